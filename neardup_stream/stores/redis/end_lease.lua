-- KEYS[1] the lease; ARGV[1] its holder
-- Removes the lease, unless it is another holder's.
local own = ARGV[1] .. ' '
if string.sub(redis.call('GET', KEYS[1]) or '', 1, #own) == own then
  redis.call('DEL', KEYS[1])
end
return 1
