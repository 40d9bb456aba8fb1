-- Which route a request takes.
local state = require "fairway.state"

local re_match = ngx.re.match
local sub, byte, find = string.sub, string.byte, string.find

local _M = {}

-- Prefixes match element by element: /foo is for /foo and /foo/bar, not for /foobar.
local function has_prefix(path, stem)
    local length = #stem
    if length == 0 then
        return true
    end
    if sub(path, 1, length) ~= stem then
        return false
    end
    local after = byte(path, length + 1)
    return after == nil or after == 47
end

local function among(routes, path)
    for index = 1, #routes do
        local route = routes[index]
        if route.stem then
            if has_prefix(path, route.stem) then
                return route
            end
        elseif route.pattern then
            local captures = re_match(path, route.pattern, "ijo")
            if captures then
                return route, captures
            end
        elseif path == route.path then
            return route
        end
    end
end

-- A host's name is in small letters already.
local function routes_of(host)
    if byte(host, #host) == 46 then
        host = sub(host, 1, -2)
    end
    local found = state.host(host)
    if not found then
        local dot = find(host, ".", 1, true)
        found = dot and state.host("*" .. sub(host, dot))
    end
    return found or state.host("")
end

-- The route, and what the groups of its expression have matched.
function _M.find(host, path)
    local found = routes_of(host)
    if found then
        local route, captures = among(found.routes, path)
        if route then
            return route, captures
        end
    end
    return state.get("fallback")
end

return _M
