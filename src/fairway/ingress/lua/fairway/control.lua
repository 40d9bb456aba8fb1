-- The controller's end, on a socket of our own: changes come in, metrics and what is in force go out.
local cjson = require "cjson.safe"
local state = require "fairway.state"
local counts = require "fairway.counts"

local _M = {}

local function body()
    ngx.req.read_body()
    local data = ngx.req.get_body_data()
    if data then
        return data
    end
    local path = ngx.req.get_body_file()
    local file = path and io.open(path, "rb")
    if not file then
        return ""
    end
    data = file:read("*a")
    file:close()
    return data
end

local function change()
    local wanted = cjson.decode(body())
    if type(wanted) ~= "table" or type(wanted.set) ~= "table" or type(wanted.forget) ~= "table" then
        ngx.status = 400
        return ngx.say("expected set and forget")
    end
    local done, problem = state.change(wanted.set, wanted.forget)
    if not done then
        ngx.status = 507
        return ngx.say(problem)
    end
    ngx.say("ok")
end

function _M.serve()
    local path = ngx.var.uri
    if path == "/change" and ngx.req.get_method() == "POST" then
        return change()
    elseif path == "/keys" then
        local keys = state.keys()
        return ngx.say(#keys > 0 and cjson.encode(keys) or "[]")
    elseif path == "/counts" then
        return ngx.say(counts.text())
    end
    ngx.exit(404)
end

return _M
