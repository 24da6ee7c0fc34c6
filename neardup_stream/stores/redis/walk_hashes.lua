-- Reads hashes one after the other, until they come to enough fields or bytes; a hash is read whole.
-- KEYS    the hashes; ARGV[1] most fields, but for those of a single hash; ARGV[2] no hash is read behind so many bytes
-- Returns { how many hashes were read, field, value, field, value, … }.
local call, most, most_bytes = redis.call, tonumber(ARGV[1]), tonumber(ARGV[2])
local found, fields, bytes = { 0 }, 0, 0
for i = 1, #KEYS do
  local size = call('HLEN', KEYS[i])
  if size > 0 then
    if fields > 0 and fields + size > most or bytes >= most_bytes then
      break
    end
    for _, content in ipairs(call('HGETALL', KEYS[i])) do
      found[#found + 1] = content
      bytes = bytes + #content
    end
    fields = fields + size
  end
  found[1] = i
end
return found
