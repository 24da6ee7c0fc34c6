-- Changes cells, members and ranks all at once, if nothing has moved.
--
-- KEYS    the counter of ranks, then whatever the items name
-- ARGV[1..5] are items one behind the other: number of a key in KEYS (4 bytes), length (2) and field,
-- length (4) and value:
--   [1] limits    hash, field, value: what is stored may not be above it
--   [2] expected  hash, field, value; empty: nothing is stored
--   [3] writes    hash, field, value; empty: remove
--   [4] leaving   sorted set, member (cluster key, rank, handle), nothing
--   [5] joining   the same, the rank perhaps provisional
-- ARGV[6] how many ranks are taken
-- Returns the rank before the first one taken, or false.
--
-- Values begin with a rank. One whose first bit is set is provisional: a number of this batch.
local call, sub, byte = redis.call, string.sub, string.byte
-- Fields and values that travel in one command; Lua's stack takes some thousands.
local FIELDS = 400

local function items(packed)
  local at = 1
  return function()
    if at <= #packed then
      local key, field, value
      key, field, value, at = struct.unpack('>I4I2c0I4c0', packed, at)
      return KEYS[key], field, value
    end
  end
end

for key, field, limit in items(ARGV[1]) do
  if tonumber(call('HGET', key, field) or 0) > tonumber(limit) then
    return false
  end
end
for key, field, value in items(ARGV[2]) do
  if (call('HGET', key, field) or '') ~= value then
    return false
  end
end

local base = call('INCRBY', KEYS[1], ARGV[6]) - ARGV[6]

-- The bytes with the rank that begins at `at` made final.
local function ranked(bytes, at)
  if byte(bytes, at) < 128 then
    return bytes
  end
  local number = struct.unpack('>I4', bytes, at + 2)
  return sub(bytes, 1, at - 1) .. struct.pack('>I6', base + number) .. sub(bytes, at + 6)
end

-- Writes to one hash that follow each other are one command: a batch's rows are most of them.
local target, fields = nil, {}
local function write()
  if target then
    call('HSET', target, unpack(fields))
    target, fields = nil, {}
  end
end

for key, field, value in items(ARGV[3]) do
  if key ~= target or #fields == FIELDS then
    write()
  end
  if value == '' then
    call('HDEL', key, field)
  else
    target = key
    fields[#fields + 1] = field
    fields[#fields + 1] = ranked(value, 1)
  end
end
write()
for key, member in items(ARGV[4]) do
  call('ZREM', key, member)
end
for key, member in items(ARGV[5]) do
  call('ZADD', key, 0, ranked(member, 13))
end
return base
