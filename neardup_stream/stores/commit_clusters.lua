-- Changes cells, members and ranks all at once, if nothing has moved.
--
-- ARGV[1..7]  how many floors, expected cells, writes, members that leave, members that join, aging pages
--             there are, and how many ranks are taken
-- KEYS[1..3]  counter of ranks, hash of trimmed offsets, list of aging pages
-- then, in this order:
--   floors    ARGV: partition, offset                     nothing of it may be trimmed above the offset
--   expected  KEYS: hash    ARGV: field, value            empty: nothing is stored
--   writes    KEYS: hash    ARGV: field, value            empty: remove
--   leave     KEYS: set     ARGV: member (cluster key, rank, handle)
--   join      KEYS: set     ARGV: member, its rank perhaps provisional
--   aging     ARGV: rank, handle
-- Returns the rank before the first one taken, or false.
--
-- Values begin with a rank. One whose first bit is set is provisional: a number of this batch.
local call, sub, byte = redis.call, string.sub, string.byte
local floors, expected, writes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local leave, join, aging = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local k, a = 4, 8

for _ = 1, floors do
  if tonumber(call('HGET', KEYS[2], ARGV[a]) or 0) > tonumber(ARGV[a + 1]) then
    return false
  end
  a = a + 2
end
for _ = 1, expected do
  if (call('HGET', KEYS[k], ARGV[a]) or '') ~= ARGV[a + 1] then
    return false
  end
  k, a = k + 1, a + 2
end

local base = call('INCRBY', KEYS[1], ARGV[7]) - ARGV[7]

-- The bytes with the rank at `at` made final.
local function ranked(bytes, at)
  if byte(bytes, at) < 128 then
    return bytes
  end
  local number = struct.unpack('>I4', sub(bytes, at + 2, at + 5))
  return sub(bytes, 1, at - 1) .. struct.pack('>I6', base + number) .. sub(bytes, at + 6)
end

for _ = 1, writes do
  if ARGV[a + 1] == '' then
    call('HDEL', KEYS[k], ARGV[a])
  else
    call('HSET', KEYS[k], ARGV[a], ranked(ARGV[a + 1], 1))
  end
  k, a = k + 1, a + 2
end
for _ = 1, leave do
  call('ZREM', KEYS[k], ARGV[a])
  k, a = k + 1, a + 1
end
for _ = 1, join do
  call('ZADD', KEYS[k], 0, ranked(ARGV[a], 13))
  k, a = k + 1, a + 1
end
if aging > 0 then
  local now = struct.pack('>I4', call('TIME')[1])
  for _ = 1, aging do
    call('RPUSH', KEYS[3], now .. ARGV[a])
    a = a + 1
  end
end
return base
