-- Raises the offset below which the rows of a partition are gone, and removes some of the rows below it; the
-- pages that they decided begin to age.
-- KEYS[1] hash of trimmed offsets and counts, KEYS[2] list of aging pages, KEYS[3] rows of the partition
-- ARGV[1] the partition's name, ARGV[2] the offset, ARGV[3] the cursor, ARGV[4] about how many rows to look at
-- Returns the next cursor; '0' where every row was seen.
local call, sub = redis.call, string.sub
local offset = tonumber(ARGV[2])
local stamp = struct.pack('>I4', call('TIME')[1])
local NO_RANK = string.rep('\0', 6)
-- Rows that travel in one command; Lua's stack takes some thousands.
local ROWS = 400

if offset > tonumber(call('HGET', KEYS[1], ARGV[1]) or 0) then
  call('HSET', KEYS[1], ARGV[1], ARGV[2])
end

local fields, aging = {}, {}
local function remove()
  if aging[1] then
    call('RPUSH', KEYS[2], unpack(aging))
  end
  if fields[1] then
    call('HDEL', KEYS[3], unpack(fields))
  end
  fields, aging = {}, {}
end

local cursor, rows = unpack(call('HSCAN', KEYS[3], ARGV[3], 'COUNT', ARGV[4]))
for i = 1, #rows, 2 do
  if tonumber(rows[i]) < offset then
    fields[#fields + 1] = rows[i]
    if sub(rows[i + 1], 1, 6) ~= NO_RANK then
      aging[#aging + 1] = stamp .. sub(rows[i + 1], 1, 14)
    end
    if #fields == ROWS then
      remove()
    end
  end
end
remove()

call('HSET', KEYS[1], 'aged', (call('HGET', KEYS[1], 'swept') or 0) + call('LLEN', KEYS[2]))
return cursor
