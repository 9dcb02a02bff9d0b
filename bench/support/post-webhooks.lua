-- Posts webhooks of 2 KiB whose ids do not repeat.
local count = 0
local seed = os.time() .. "-" .. tostring({}):sub(8)
local filler = string.rep("x", 1990)
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request()
  count = count + 1
  return wrk.format(nil, nil, nil, '{"id":"evt_' .. seed .. count .. '","data":"' .. filler .. '"}')
end
