-- Probes the set of each entry, then inserts its member, in order; or only probes.
--
-- KEYS[i]  the sorted set of entry i
-- ARGV[1]  distance_bits  ARGV[2] bucket_cap; of a crowd, which is larger: ARGV[3] members considered,
--          ARGV[4] of one rest, ARGV[5] pages reported of all the crowds that a page meets
-- ARGV[6]  "1" to insert
-- ARGV[7]  the entries, 34 bytes each, integers big-endian, those of a page one behind the other:
--          rest_bytes (1) | low rest (8) | high rest (8) | rest (8) | handle (8) | version byte (1)
-- returns  { found, truncated, cap_hits }; found is packed (entry (4), rest (8), handle (8), version byte (1))
--          for each member that is reported, truncated is packed (entry (4)); entries are counted from 0
--
-- A member is (rest in rest_bytes, handle, version byte). All have equal scores, so a set is ordered by bytes;
-- big-endian rests make byte order numeric order. Where rest_bytes is 0 the rest is the score, and stands in
-- the place of the low rest as 8 decimal digits: numbers in a packed set are compared three times as fast.
-- Numbers are given to Redis as strings: it would print them with 17 digits, at a fifth of a command's cost.
local distance_bits, cap = tonumber(ARGV[1]), tonumber(ARGV[2])
local considered_limit, same_rest_limit, page_limit = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local inserts, entries = ARGV[6] == '1', ARGV[7]
local call, byte, sub, bxor = redis.call, string.byte, string.sub, bit.bxor

-- Number of set bits of each byte value: a literal, because building a table costs more than the probes.
local ONES = '@ONES@'
-- Above every handle and version: makes a bound the last member of its rest.
local LAST = '\255\255\255\255\255\255\255\255\255'
local ZEROS = '\0\0\0\0\0\0\0\0'
local STRIDE = 34

-- The two kinds of sets, and how many members are read of one at first. Of equal rests: one more than a crowd's
-- are considered, for one's own, and one to see whether more follow.
local RANGE = { by = 'BYLEX', count = 'ZLEXCOUNT', page = 16, limit = '16' }
local WORD = { by = 'BYSCORE', count = 'ZCOUNT', page = same_rest_limit + 2, limit = tostring(same_rest_limit + 2) }

local found, truncated, cap_hits = {}, {}, 0

-- What the crowds of the page with this handle have given so far, by handle and version byte.
local page, known, known_count = '', {}, 0

-- Whether a member is one too many of what crowds give a page; else it is known from now on.
local function is_beyond(handle, tail)
  if handle ~= page then
    page, known, known_count = handle, {}, 0
  end
  if not known[tail] then
    if known_count == page_limit then
      return true
    end
    known[tail], known_count = true, known_count + 1
  end
  return false
end

local function truncate(number, is_capped)
  truncated[#truncated + 1] = number
  cap_hits = cap_hits + (is_capped and 1 or 0)
end

-- The members of a set from low to high, or the first ones of a crowd; and whether it is one. Of a crowd that
-- nobody wants nothing is read.
local function read(key, kind, low, high, is_wanted)
  local near = {}
  if is_wanted then
    near = call('ZRANGE', key, low, high, kind.by, 'LIMIT', '0', kind.limit)
    if #near < kind.page then
      return near, #near > cap
    end
  end
  if call(kind.count, key, low, high) > cap then
    return near, true
  end
  return call('ZRANGE', key, low, high, kind.by), false
end

-- Whether a member's rest is within the distance of these bytes. From the last: a range shares the first ones.
local function is_near(mine, other)
  local distance = 0
  for b = #mine, 1, -1 do
    local its = byte(other, b)
    if its ~= mine[b] then
      distance = distance + byte(ONES, bxor(its, mine[b]) + 1)
      if distance > distance_bits then
        return false
      end
    end
  end
  return true
end

-- Reports those members of a range that are near and not the page's own; the rest of a word is in no member.
local function report(near, head, mine, handle)
  local tail_at, tail_end = #mine + 1, #mine + 8
  for j = 1, #near do
    local other = near[j]
    if is_near(mine, other) and sub(other, tail_at, tail_end) ~= handle then
      found[#found + 1] = head .. other
    end
  end
end

-- Samples the members with one score, of which `near` are the first.
local function sample_word(key, near, number, head, handle, score)
  local considered, offset = 0, 0
  while near[1] do
    for j = 1, #near do
      local tail = near[j]
      if sub(tail, 1, 8) ~= handle then
        if considered == same_rest_limit then
          return truncate(number, false)
        end
        if is_beyond(handle, tail) then
          return truncate(number, true)
        end
        considered = considered + 1
        found[#found + 1] = head .. tail
      end
    end
    offset = offset + #near
    near = call('ZRANGE', key, score, score, 'BYSCORE', 'LIMIT', tostring(offset), WORD.limit)
  end
end

-- Samples a range of which `near` are the first members.
local function sample_range(key, near, number, head, mine, handle, high)
  local rest_bytes, run_rest, run, considered, is_truncated = #mine, nil, 0, 0, false
  while near[1] do
    local count = #near
    local resume = near[count]
    for j = 1, count do
      local other = near[j]
      local rest, tail, matches = sub(other, 1, rest_bytes), sub(other, rest_bytes + 1), is_near(mine, other)
      if not matches or sub(tail, 1, 8) ~= handle then
        if rest ~= run_rest then
          run_rest, run = rest, 0
        end
        run = run + 1
        if run > same_rest_limit then
          is_truncated = is_truncated or matches
          if count == RANGE.page then
            resume = rest .. LAST
            break
          end
        elseif considered == considered_limit or (matches and is_beyond(handle, tail)) then
          return truncate(number, true)
        else
          considered = considered + 1
          if matches then
            found[#found + 1] = head .. other
          end
        end
      end
    end
    if count < RANGE.page then
      break
    end
    near = call('ZRANGE', key, '(' .. resume, high, 'BYLEX', 'LIMIT', '0', RANGE.limit)
  end
  if is_truncated then
    truncate(number, false)
  end
end

for i = 1, #KEYS do
  local key, at = KEYS[i], (i - 1) * STRIDE
  local rest_bytes = byte(entries, at + 1)
  local member = sub(entries, at + 26 - rest_bytes, at + STRIDE)
  local kind, score, low, high = RANGE, '0', nil, nil
  if rest_bytes == 0 then
    score = sub(entries, at + 2, at + 9)
    kind, low, high = WORD, score, score
  else
    low = '[' .. sub(entries, at + 10 - rest_bytes, at + 9)
    high = '[' .. sub(entries, at + 18 - rest_bytes, at + 17) .. LAST
  end
  local is_served = known_count == page_limit and sub(member, rest_bytes + 1, rest_bytes + 8) == page
  local near, is_crowd = read(key, kind, low, high, not is_served)
  if is_crowd or near[1] then
    local number, handle = struct.pack('>I4', i - 1), sub(member, rest_bytes + 1, rest_bytes + 8)
    local mine = { byte(member, 1, rest_bytes) }
    -- A reported rest has 8 bytes: what of it no member holds stands before the member.
    local head = number .. (kind == WORD and sub(entries, at + 18, at + 25) or sub(ZEROS, rest_bytes + 1))
    if not is_crowd then
      report(near, head, mine, handle)
    elseif is_served then
      truncate(number, true)
    elseif kind == WORD then
      sample_word(key, near, number, head, handle, score)
    else
      sample_range(key, near, number, head, mine, handle, high)
    end
  end
  if inserts then
    call('ZADD', key, score, member)
  end
end

return { table.concat(found), table.concat(truncated), cap_hits }
