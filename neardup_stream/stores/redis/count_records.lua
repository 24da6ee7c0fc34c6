-- KEYS: hashes of page records. Returns how many records they hold together.
local count = 0
for _, key in ipairs(KEYS) do
  local fields = redis.call('HLEN', key)
  if fields > 0 and redis.call('HGET', key, '') then fields = fields - 1 end -- the slot's version floor
  count = count + fields
end
return count
