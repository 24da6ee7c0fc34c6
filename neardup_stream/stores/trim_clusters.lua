-- Removes the rows of some partitions below an offset; their pages begin to age.
-- KEYS[1] hash of trimmed offsets and counts, KEYS[2] list of aging pages, KEYS[2 + i] rows of partition i
-- ARGV[1] seconds that a page ages, ARGV[2] most entries to return, then for each partition its name and offset
-- Returns the oldest entries that have aged enough, each a rank (6 bytes) and a handle (8).
local call, sub = redis.call, string.sub
local now = tonumber(call('TIME')[1])
local stamp = struct.pack('>I4', now)
local NO_RANK = string.rep('\0', 6)
-- Rows that travel in one command; Lua's stack takes some thousands.
local ROWS = 200

-- Takes these rows out; pages that they decided begin to age.
local function take_out(rows_key, fields)
  local aging = {}
  for _, row in ipairs(call('HMGET', rows_key, unpack(fields))) do
    if sub(row, 1, 6) ~= NO_RANK then
      aging[#aging + 1] = stamp .. sub(row, 1, 14)
    end
  end
  if aging[1] then
    call('RPUSH', KEYS[2], unpack(aging))
  end
  call('HDEL', rows_key, unpack(fields))
end

for i = 3, #KEYS do
  local partition, offset = ARGV[2 * i - 3], tonumber(ARGV[2 * i - 2])
  if offset > tonumber(call('HGET', KEYS[1], partition) or 0) then
    call('HSET', KEYS[1], partition, ARGV[2 * i - 2])
  end
  local fields = {}
  for _, field in ipairs(call('HKEYS', KEYS[i])) do
    if tonumber(field) < offset then
      fields[#fields + 1] = field
      if #fields == ROWS then
        take_out(KEYS[i], fields)
        fields = {}
      end
    end
  end
  if fields[1] then
    take_out(KEYS[i], fields)
  end
end

call('HSET', KEYS[1], 'aged', (call('HGET', KEYS[1], 'swept') or 0) + call('LLEN', KEYS[2]))

local due = {}
for _, entry in ipairs(call('LRANGE', KEYS[2], 0, ARGV[2] - 1)) do
  if struct.unpack('>I4', entry) + tonumber(ARGV[1]) > now then
    break
  end
  due[#due + 1] = sub(entry, 5)
end
return due
