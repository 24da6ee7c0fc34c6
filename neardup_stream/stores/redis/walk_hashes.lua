-- Reads hashes one after the other, until they come to enough fields; the first that holds any is read whole.
-- KEYS    the hashes; ARGV[1] most fields
-- Returns { how many hashes were read, field, value, field, value, … }.
local call, most = redis.call, tonumber(ARGV[1])
local found, fields = { 0 }, 0
for i = 1, #KEYS do
  local size = call('HLEN', KEYS[i])
  if fields > 0 and fields + size > most then
    break
  end
  if size > 0 then
    for _, content in ipairs(call('HGETALL', KEYS[i])) do
      found[#found + 1] = content
    end
    fields = fields + size
  end
  found[1] = i
end
return found
