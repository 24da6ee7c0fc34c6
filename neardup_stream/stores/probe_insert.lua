-- Probes the range of each entry, then inserts its member, in order; or only probes.
--
-- KEYS[i]  the sorted set of entry i
-- ARGV[1]  distance_bits  ARGV[2] bucket_cap  ARGV[3] crowd  ARGV[4] same_rest  ARGV[5] candidate_limit
-- ARGV[6]  "1" to insert
-- ARGV[7]  the entries, 35 bytes each, integers big-endian:
--          rest_bytes (1) | exact (1) | low rest (8) | high rest (8) | rest (8) | handle (8) | version byte (1)
-- returns  { found, truncated, cap_hits }; found is packed (entry (4), rest (8), handle (8), version byte (1))
--          for each member that is reported, truncated is packed (entry (4)); entries are counted from 0
--
-- A member is (rest in rest_bytes, handle, version byte). All have equal scores, so a set is ordered by bytes;
-- big-endian rests make byte order numeric order. Numbers are given to Redis as strings: it would print them
-- with 17 digits, at a fifth of the cost of the command.
local distance_bits, cap, crowd = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local crowd_same_rest, crowd_candidates = tonumber(ARGV[4]), tonumber(ARGV[5])
local inserts, entries = ARGV[6] == '1', ARGV[7]
local call, byte, sub, bxor = redis.call, string.byte, string.sub, bit.bxor

-- Number of set bits of each byte value: a literal, because building a table costs more than the probes.
local ONES = '@ONES@'
-- Above every handle and version: makes a bound the last member of its rest.
local LAST = '\255\255\255\255\255\255\255\255\255'
local ZEROS = '\0\0\0\0\0\0\0\0'

-- Members read at once. Equal rests: one more than a crowd's are considered, for one's own, and one to see
-- whether more follow.
local PAGE = { [0] = 32, [1] = crowd_same_rest + 2 }
local LIMIT = { [0] = '32', [1] = tostring(crowd_same_rest + 2) }
local STRIDE = 35

local found, truncated, cap_hits = {}, {}, 0

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

-- Walks the range of entry i, of which `near` are the first members. Only a crowd is limited.
local function walk(i, near, member, rest_bytes, exact, high, is_crowd)
  local same_rest = is_crowd and crowd_same_rest or math.huge
  local candidate_limit = is_crowd and crowd_candidates or math.huge
  local tail_at, page = rest_bytes + 1, PAGE[exact]
  local handle = sub(member, tail_at, rest_bytes + 8)
  local mine = exact == 0 and { byte(member, 1, rest_bytes) }
  local number = struct.pack('>I4', i - 1)
  local head = number .. sub(ZEROS, tail_at)
  local run_rest, run, considered, reported, is_truncated = nil, 0, 0, 0, false
  while near[1] do
    local count = #near
    -- Elsewhere far members are passed by unseen: nothing that counts them could end the walk.
    local is_busy = count == page or considered + count > cap
    local resume = near[count]
    for j = 1, count do
      local other = near[j]
      local matches = not mine or is_near(mine, other)
      if (matches or is_busy) and not (matches and sub(other, tail_at, rest_bytes + 8) == handle) then
        local rest = sub(other, 1, rest_bytes)
        if rest ~= run_rest then
          run_rest, run = rest, 0
        end
        run = run + 1
        if run > same_rest then
          is_truncated = is_truncated or matches
          if count == page then
            resume = rest .. LAST
            break
          end
        elseif considered == cap or (matches and reported == candidate_limit) then
          cap_hits = cap_hits + 1
          truncated[#truncated + 1] = number
          return
        else
          considered = considered + 1
          if matches then
            reported = reported + 1
            found[#found + 1] = head .. other
          end
        end
      end
    end
    if count < page or not is_crowd or (exact == 1 and run > same_rest) then
      break
    end
    near = call('ZRANGE', KEYS[i], '(' .. resume, high, 'BYLEX', 'LIMIT', '0', LIMIT[exact])
  end
  if is_truncated then
    truncated[#truncated + 1] = number
  end
end

for i = 1, #KEYS do
  local at = (i - 1) * STRIDE
  local rest_bytes, exact = byte(entries, at + 1, at + 2)
  local member = sub(entries, at + 27 - rest_bytes, at + STRIDE)
  local low = sub(entries, at + 11 - rest_bytes, at + 10)
  local high = low
  if exact == 0 then
    high = sub(entries, at + 19 - rest_bytes, at + 18)
  end
  high = '[' .. high .. LAST
  local near = call('ZRANGE', KEYS[i], '[' .. low, high, 'BYLEX', 'LIMIT', '0', LIMIT[exact])
  if near[1] then
    local count = #near
    if count == PAGE[exact] then
      count = call('ZLEXCOUNT', KEYS[i], '[' .. low, high)
      if count <= crowd then
        near = call('ZRANGE', KEYS[i], '[' .. low, high, 'BYLEX')
      end
    end
    walk(i, near, member, rest_bytes, exact, high, count > crowd)
  end
  if inserts then
    call('ZADD', KEYS[i], '0', member)
  end
end

return { table.concat(found), table.concat(truncated), cap_hits }
