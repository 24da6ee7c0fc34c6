-- Lets page cells begin to age, each alone.
-- KEYS[1] hash of trimmed offsets and counts, KEYS[2] list of aging pages
-- ARGV    an entry of the list for each, see due_clusters
local call = redis.call
local stamp = struct.pack('>I4', call('TIME')[1])
for i = 1, #ARGV do
  call('RPUSH', KEYS[2], stamp .. ARGV[i])
end
call('HSET', KEYS[1], 'aged', (call('HGET', KEYS[1], 'swept') or 0) + call('LLEN', KEYS[2]))
