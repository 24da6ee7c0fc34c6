-- Takes the oldest entries from the list of aging pages and removes those cells that nothing holds.
-- KEYS[1] hash of trimmed offsets and counts, KEYS[2] the list, KEYS[2 + i] the hash of page i
-- ARGV[i] its rank (6 bytes) and handle (8), as in the list
-- A cell is let go when it still has that rank and its flags, the byte after it, are below 2.
local call, sub = redis.call, string.sub
local oldest = call('LRANGE', KEYS[2], 0, #ARGV - 1)
local swept = 0
for i = 1, #oldest do
  if sub(oldest[i], 5) ~= ARGV[i] then
    break
  end
  swept = i
  local handle = sub(ARGV[i], 7)
  local cell = call('HGET', KEYS[2 + i], handle)
  if cell and sub(cell, 1, 6) == sub(ARGV[i], 1, 6) and string.byte(cell, 7) < 2 then
    call('HDEL', KEYS[2 + i], handle)
  end
end
call('LTRIM', KEYS[2], swept, -1)
call('HINCRBY', KEYS[1], 'swept', swept)
