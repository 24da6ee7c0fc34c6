// Places the pages of a cluster: the representative in the middle, around it the pages that match it, around
// those the pages that match them. The same links always give the same places.

const GAP = 26; // least distance of neighbours on a ring
const RING = 92; // least distance of rings
const STAGGER = 24; // distance of the rows of a full ring
const ROWS = 3;

/**
 * Return the place of each page, and how it hangs together.
 *
 * `parents` has for each page the page through which it is linked to the middle, which is `middle`; -1 for that
 * itself, and for pages that are linked to none of the others.
 * A place is {x, y, depth, children}.
 */
export function placed(parents, middle) {
  const nodes = parents.map(() => ({ x: 0, y: 0, depth: 0, children: [], leaves: 0 }));
  const loose = [];
  parents.forEach((parent, at) => {
    if (parent >= 0) nodes[parent].children.push(at);
    else if (at !== middle) loose.push(at);
  });
  // Pages without a link stand on the first ring: a graph in pieces is still one drawing.
  const first = [...nodes[middle].children, ...loose];
  const order = preorder(nodes, middle, first);
  for (const at of [...order].reverse()) {
    nodes[at].leaves = nodes[at].children.reduce((sum, child) => sum + nodes[child].leaves, 0) || 1;
  }
  nodes[middle].leaves = first.reduce((sum, child) => sum + nodes[child].leaves, 0) || 1;
  const angles = turned(nodes, middle, first);
  const rings = ringRadii(nodes, order);
  const rows = new Map();
  for (const at of order) {
    const { depth } = nodes[at];
    const ring = rings[depth];
    const turn = rows.get(depth) ?? 0;
    rows.set(depth, turn + 1);
    const distance = ring.radius + (turn % ring.rows) * STAGGER;
    nodes[at].x = distance * Math.cos(angles[at]);
    nodes[at].y = distance * Math.sin(angles[at]);
  }
  return nodes;
}

function preorder(nodes, middle, first) {
  const order = [];
  const open = [...first].reverse();
  for (const at of first) nodes[at].depth = 1;
  while (open.length) {
    const at = open.pop();
    order.push(at);
    for (const child of [...nodes[at].children].reverse()) {
      nodes[child].depth = nodes[at].depth + 1;
      open.push(child);
    }
  }
  return order;
}

function turned(nodes, middle, first) {
  const angles = [];
  const open = [[first, -Math.PI / 2, 2 * Math.PI, nodes[middle].leaves]];
  while (open.length) {
    const [children, start, width, leaves] = open.pop();
    let from = start;
    for (const child of children) {
      const own = (width * nodes[child].leaves) / leaves;
      angles[child] = from + own / 2;
      open.push([nodes[child].children, from, own, nodes[child].leaves]);
      from += own;
    }
  }
  return angles;
}

function ringRadii(nodes, order) {
  const counts = [];
  for (const at of order) counts[nodes[at].depth] = (counts[nodes[at].depth] ?? 0) + 1;
  const rings = [{ radius: 0, rows: 1 }];
  let outer = 0;
  for (let depth = 1; depth < counts.length; depth += 1) {
    const rows = counts[depth] * GAP > 2 * Math.PI * (outer + RING) ? ROWS : 1;
    const radius = Math.max(outer + RING, (counts[depth] * GAP) / rows / (2 * Math.PI));
    rings.push({ radius, rows });
    outer = radius + (rows - 1) * STAGGER;
  }
  return rings;
}
