-- Changes cells, members and ranks all at once, if nothing has moved.
--
-- KEYS    the counter of ranks, the turn, then whatever the items name
-- ARGV[1..10] are items one behind the other: number of a key in KEYS (4 bytes), length (2) and field,
-- length (4) and value; a swap and a count have two values:
--   [1] limits    hash, field, value: what is stored may not be above it
--   [2] expected  hash, field, value; empty: nothing is stored
--   [3] begins    hash, field, how its value must begin
--   [4] swaps     hash, field, value that is expected, value to write; empty: remove
--   [5] counts    hash, field, value that is expected but for its count, what is added to the count
--   [6] new       hash, field, value to write where nothing is stored
--   [7] writes    hash, field, value; empty: remove
--   [8] parts     hash, name of a block, bytes to append; to a block that continues it, where it is full
--   [9] leaving   sorted set, member (cluster key, rank, handle), nothing
--   [10] joining  the same, the rank perhaps provisional
-- ARGV[11] how many ranks are taken, ARGV[12] token of our turn, ARGV[13] how many ranks must have been taken
-- Returns the rank before the first one taken, or false; -1 - that rank where it is below ARGV[13].
--
-- Values begin with a rank. One whose first bit is set is provisional: a number of this batch.
local call, sub, byte, unpack_struct = redis.call, string.sub, string.byte, struct.unpack
-- Fields and values that travel in one command; Lua's stack takes some thousands.
local FIELDS = 400

local function items(packed)
  local at = 1
  return function()
    if at <= #packed then
      local key, field, value
      key, field, value, at = unpack_struct('>I4I2c0I4c0', packed, at)
      return KEYS[key], field, value
    end
  end
end

local turn = call('GET', KEYS[2])
if turn and (ARGV[12] == '' or sub(turn, 1, #ARGV[12]) ~= ARGV[12]) then
  return false
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
for key, field, head in items(ARGV[3]) do
  if sub(call('HGET', key, field) or '', 1, #head) ~= head then
    return false
  end
end

-- What the swaps write, once all of them are found to be right.
local keys, fields, values, at = {}, {}, {}, 1
while at <= #ARGV[4] do
  local key, field, old, new
  key, field, old, new, at = unpack_struct('>I4I2c0I4c0I4c0', ARGV[4], at)
  key = KEYS[key]
  if (call('HGET', key, field) or '') ~= old then
    return false
  end
  keys[#keys + 1], fields[#fields + 1], values[#values + 1] = key, field, new
end

at = 1
while at <= #ARGV[5] do
  local key, field, old, added
  key, field, old, added, at = unpack_struct('>I4I2c0I4c0I4c0', ARGV[5], at)
  key = KEYS[key]
  local now = call('HGET', key, field) or ''
  -- Bytes 7 to 10 are the count.
  if sub(now, 1, 6) ~= sub(old, 1, 6) or sub(now, 11) ~= sub(old, 11) then
    return false
  end
  if added ~= '0' then
    local count = struct.pack('>I4', unpack_struct('>I4', now, 7) + added)
    keys[#keys + 1], fields[#fields + 1] = key, field
    values[#values + 1] = sub(now, 1, 6) .. count .. sub(now, 11)
  end
end

local base = tonumber(call('GET', KEYS[1]) or 0)
if base < tonumber(ARGV[13]) then
  return -1 - base
end

-- The bytes with the rank that begins at `from` made final.
local function ranked(bytes, from)
  if byte(bytes, from) < 128 then
    return bytes
  end
  local number = unpack_struct('>I4', bytes, from + 2)
  return sub(bytes, 1, from - 1) .. struct.pack('>I6', base + number) .. sub(bytes, from + 6)
end

-- The only check that writes, as the last one: one command for most cells, and taken back if one is there.
local written = 0
for key, field, value in items(ARGV[6]) do
  if call('HSETNX', key, field, ranked(value, 1)) == 0 then
    for other, its_field in items(ARGV[6]) do
      if written == 0 then
        return false
      end
      call('HDEL', other, its_field)
      written = written - 1
    end
  end
  written = written + 1
end

if turn then
  call('DEL', KEYS[2])
end
call('INCRBY', KEYS[1], ARGV[11])

-- Values for one hash that follow each other are one command.
local target, content = nil, {}
local function flush()
  if target then
    call('HSET', target, unpack(content))
    target, content = nil, {}
  end
end

local function write(key, field, value)
  if key ~= target or #content == FIELDS then
    flush()
  end
  if value == '' then
    call('HDEL', key, field)
  else
    target = key
    content[#content + 1] = field
    content[#content + 1] = ranked(value, 1)
  end
end

for i = 1, #keys do
  write(keys[i], fields[i], values[i])
end
for key, field, value in items(ARGV[7]) do
  write(key, field, value)
end
flush()

for key, block, part in items(ARGV[8]) do
  local name, followed, size = block, 0, call('HSTRLEN', key, block)
  while size >= @BLOCK_BYTES@ do
    followed = followed + 1
    name = block .. '.' .. followed
    size = call('HSTRLEN', key, name)
  end
  part = ranked(part, 1)
  call('HSET', key, name, size > 0 and call('HGET', key, name) .. part or part)
end

for key, member in items(ARGV[9]) do
  call('ZREM', key, member)
end
for key, member in items(ARGV[10]) do
  call('ZADD', key, 0, ranked(member, 13))
end
return base
