-- What requests ask of an entry, worked out once: when it is decoded.
local _M = {}
local nothing = {}

-- A route with nothing but these needs no more than an endpoint. Whatever isn't here takes the long way.
local function set(...)
    local made = {}
    for _, name in ipairs({ ... }) do
        made[name] = true
    end
    return made
end
local plain_parts = set("path", "type", "backend", "ingress", "options", "tls")
local plain_options = set("use_regex", "ssl_redirect", "connect_seconds", "send_seconds", "read_seconds",
    "tries", "balance", "hash_by")

local function is_within(given, known)
    for name in pairs(given) do
        if not known[name] then
            return false
        end
    end
    return true
end

-- What nginx, which knows only some limits, shall do about a body whose length nobody has announced: the end of
-- a location's name.
local function nearest_limit(bytes)
    local limit = 1024
    while limit < bytes do
        limit = limit * 2
    end
    return bytes > 0 and limit <= fairway.largest_body_limit and string.format("-%d", limit) or ""
end

local function prepare(route)
    route.options = route.options or nothing
    route.plain = is_within(route, plain_parts) and is_within(route.options, plain_options)
    route.body_bytes = route.options.body_bytes or 1048576
    route.body_limit = nearest_limit(route.body_bytes)
    if route.type == "prefix" then
        route.stem = route.path:gsub("/$", "")
    elseif route.type == "regex" then
        route.pattern = "^" .. route.path
    end
end

function _M.host(host)
    host.routes = host.routes or nothing
    for _, route in ipairs(host.routes) do
        prepare(route)
    end
end

_M.fallback = prepare

function _M.backend(backend)
    for _, endpoint in ipairs(backend.endpoints) do
        endpoint.name = endpoint[1] .. ":" .. endpoint[2]
    end
end

return _M
