-- The commands, from the second of ARGV on, that this user may not run on the key that is the first: named there,
-- because a key of KEYS that is not allowed ends the script before it begins. None before Redis 7, which cannot tell.
local missing = {}
for i = 2, #ARGV do
  if redis.acl_check_cmd and not redis.acl_check_cmd(ARGV[i], ARGV[1], '0', '0', '0') then
    missing[#missing + 1] = ARGV[i]
  end
end
return missing
