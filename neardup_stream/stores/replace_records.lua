-- Writes each page record if what is stored is still what its writer saw.
-- KEYS[i] is the hash of change i; ARGV[1] the handles, 8 bytes each; ARGV[2 * i] what the writer saw, empty
-- for nothing; ARGV[2 * i + 1] the new record.
-- Returns what is stored afterwards where that is not the new record, else false.
local stored = {}
for i = 1, #KEYS do
  local handle = string.sub(ARGV[1], 8 * i - 7, 8 * i)
  local seen, new = ARGV[2 * i], ARGV[2 * i + 1]
  local now = redis.call('HGET', KEYS[i], handle)
  if (now or '') == seen then
    redis.call('HSET', KEYS[i], handle, new)
    stored[i] = false
  elseif now == new then
    stored[i] = false
  else
    stored[i] = now or ''
  end
end
return stored
