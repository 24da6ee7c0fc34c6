-- KEYS[1] list of aging pages; ARGV[1] seconds that a page ages, ARGV[2] most entries to return
-- Returns the oldest entries that have aged enough, each a rank (6 bytes) and a handle (8).
local now, seconds = tonumber(redis.call('TIME')[1]), tonumber(ARGV[1])
local due = {}
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, ARGV[2] - 1)) do
  if struct.unpack('>I4', entry) + seconds > now then
    break
  end
  due[#due + 1] = string.sub(entry, 5)
end
return due
