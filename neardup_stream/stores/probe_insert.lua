-- Probes the range of each entry, then inserts its member, in order; or only probes.
--
-- KEYS[i]  the sorted set of entry i
-- ARGV[1]  distance_bits  ARGV[2] bucket_cap  ARGV[3] same_rest  ARGV[4] "1" to insert
-- ARGV[5]  the entries, 35 bytes each, integers big-endian:
--          rest_bytes (1) | exact (1) | low rest (8) | high rest (8) | rest (8) | handle (8) | version byte (1)
-- returns  { found, truncated, cap_hits }; found is packed (entry (4), rest (8), handle (8), version byte (1))
--          for each member that is reported, truncated is packed (entry (4)); entries are counted from 0
--
-- A member is (rest in rest_bytes, handle, version byte). All have equal scores, so a set is ordered by bytes;
-- big-endian rests make byte order numeric order. Numbers are given to Redis as strings: it would print them
-- with 17 digits, at a fifth of the cost of the command.
local distance_bits, cap, same_rest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local inserts, entries = ARGV[4] == '1', ARGV[5]
local call, byte, sub, bxor = redis.call, string.byte, string.sub, bit.bxor

-- Number of set bits of each byte value: a literal, because building a table costs more than the probes.
local ONES = '@ONES@'
-- Above every handle and version: makes a bound the last member of its rest.
local LAST = '\255\255\255\255\255\255\255\255\255'
local ZEROS = '\0\0\0\0\0\0\0\0'

-- Members read at once. Equal rests: one more than is considered, for one's own, and one to see whether more follow.
local PAGE = { [0] = 32, [1] = same_rest + 2 }
local LIMIT = { [0] = '32', [1] = tostring(same_rest + 2) }
local STRIDE = 35

local found, truncated, cap_hits = {}, {}, 0

-- Whether two members' rests are within the distance. From the last byte: the first ones are shared by a range.
local function is_near(member, other, rest_bytes)
  local distance = 0
  for b = rest_bytes, 1, -1 do
    local mine, its = byte(member, b), byte(other, b)
    if mine ~= its then
      distance = distance + byte(ONES, bxor(mine, its) + 1)
      if distance > distance_bits then
        return false
      end
    end
  end
  return true
end

-- Walks the range of one entry, of which `near` are the first members.
local function walk(i, near, key, member, rest_bytes, exact, high)
  local page = PAGE[exact]
  local tail_at = rest_bytes + 1
  local handle = sub(member, tail_at, rest_bytes + 8)
  local run_rest, run, considered, is_truncated = nil, 0, 0, false
  while true do
    local count = #near
    -- Far members count only where a cap or a run could end the walk.
    local is_busy = count == page or considered + count > cap
    local resume
    for j = 1, count do
      local other = near[j]
      local matches = exact == 1 or is_near(member, other, rest_bytes)
      if matches or is_busy then
        if sub(other, tail_at, rest_bytes + 8) ~= handle then
          local rest = sub(other, 1, rest_bytes)
          if rest ~= run_rest then
            run_rest, run = rest, 0
          end
          run = run + 1
          if run > same_rest then
            is_truncated = is_truncated or matches
            resume = rest .. LAST
            if count == page then
              break
            end
          elseif considered == cap then
            cap_hits = cap_hits + 1
            truncated[#truncated + 1] = struct.pack('>I4', i - 1)
            return
          else
            considered = considered + 1
            if matches then
              found[#found + 1] = struct.pack('>I4', i - 1) .. sub(ZEROS, tail_at) .. other
            end
          end
        end
      end
    end
    if count < page or (exact == 1 and resume) then
      break
    end
    near = call('ZRANGE', key, '(' .. (resume or near[count]), high, 'BYLEX', 'LIMIT', '0', LIMIT[exact])
  end
  if is_truncated then
    truncated[#truncated + 1] = struct.pack('>I4', i - 1)
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
    walk(i, near, KEYS[i], member, rest_bytes, exact, high)
  end
  if inserts then
    call('ZADD', KEYS[i], '0', member)
  end
end

return { table.concat(found), table.concat(truncated), cap_hits }
