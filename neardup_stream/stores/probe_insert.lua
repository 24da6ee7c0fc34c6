-- Probes the range of each entry, then inserts it, in order; or only probes.
--
-- KEYS[i]  the sorted set of entry i
-- ARGV[1]  rest_bytes  ARGV[2] distance_bits  ARGV[3] bucket_cap  ARGV[4] "1" to insert
-- ARGV[5]  the entries, packed one behind the other:
--          low rest | high rest | member (rest, 8-byte handle, version byte) | row (4 bytes)
-- returns  { found, cap_hits }; found is packed (row, handle, version byte, distance byte) for each candidate
--
-- Members have equal scores, so the set is ordered by bytes; big-endian rests make byte order numeric order.
local rest_bytes, distance_bits = tonumber(ARGV[1]), tonumber(ARGV[2])
local cap, inserts, entries = tonumber(ARGV[3]), ARGV[4] == '1', ARGV[5]
local call, byte, sub, bxor = redis.call, string.byte, string.sub, bit.bxor

-- Number of set bits of each byte value: a literal, because building a table costs more than the probes.
local ONES = '@ONES@'
-- Above every handle and version: makes the high bound the last member of its rest.
local LAST = '\255\255\255\255\255\255\255\255\255'

local member_bytes = rest_bytes + 9
local stride = 2 * rest_bytes + member_bytes + 4
local found, cap_hits = {}, 0

for i = 1, #KEYS do
  local at = (i - 1) * stride
  local low = sub(entries, at + 1, at + rest_bytes)
  local high = sub(entries, at + rest_bytes + 1, at + 2 * rest_bytes)
  local member = sub(entries, at + 2 * rest_bytes + 1, at + 2 * rest_bytes + member_bytes)
  local handle = sub(member, rest_bytes + 1, rest_bytes + 8)
  local near = call('ZRANGE', KEYS[i], '[' .. low, '[' .. high .. LAST, 'BYLEX', 'LIMIT', 0, cap + 1)
  local read = #near
  if read > cap then
    cap_hits = cap_hits + 1
    read = cap
  end
  for j = 1, read do
    local other = near[j]
    local distance = 0
    for b = 1, rest_bytes do
      local mine, its = byte(member, b), byte(other, b)
      if mine ~= its then
        distance = distance + byte(ONES, bxor(mine, its) + 1)
        if distance > distance_bits then
          break
        end
      end
    end
    if distance <= distance_bits and sub(other, rest_bytes + 1, rest_bytes + 8) ~= handle then
      found[#found + 1] = sub(entries, at + stride - 3, at + stride)
        .. sub(other, rest_bytes + 1, member_bytes) .. string.char(distance)
    end
  end
  if inserts then
    call('ZADD', KEYS[i], 0, member)
  end
end

return { table.concat(found), cap_hits }
