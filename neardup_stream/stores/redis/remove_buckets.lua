-- Removes buckets of tables; their memory, of a hot one much, is freed behind the call.
--
-- KEYS     the buckets
-- returns  how many were there
local count = 0
for i = 1, #KEYS do
  count = count + redis.call('UNLINK', KEYS[i])
end
return count
