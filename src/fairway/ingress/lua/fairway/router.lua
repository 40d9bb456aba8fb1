-- What happens before a request is sent on: little for most, but there are redirects, who may pass, how much,
-- canaries, rewriting.
local state = require "fairway.state"
local routes = require "fairway.routes"
local requests = require "fairway.requests"
local addresses = require "fairway.addresses"
local rates = require "fairway.rates"
local answers = require "fairway.answers"

local re_match = ngx.re.match

local _M = {}

local function refuse(status)
    ngx.status = status
    return ngx.exit(status)
end

local function redirect_to_tls(route, options)
    if ngx.var.scheme == "https" or ngx.var.http_x_forwarded_proto == "https" then
        return
    end
    if options.force_ssl_redirect or (route.tls and options.ssl_redirect ~= false) then
        return ngx.redirect("https://" .. ngx.var.host .. ngx.var.request_uri, 308)
    end
end

local function redirects(route, options, path)
    if route.tls or options.force_ssl_redirect then
        redirect_to_tls(route, options)
    end
    if options.redirect then
        return ngx.redirect(options.redirect, options.redirect_code or 301)
    end
    if options.app_root and path == "/" then
        return ngx.redirect(options.app_root, 302)
    end
end

local function admit(route, options)
    if not (options.denied or options.allowed or options.rate or route.auth_file) then
        return
    end
    local client = ngx.var.remote_addr
    if options.denied and addresses.among(client, options.denied) then
        return refuse(403)
    end
    if options.allowed and not addresses.among(client, options.allowed) then
        return refuse(403)
    end
    if options.rate and not rates.allow(route.ingress .. "|" .. client, options.rate, options.burst) then
        return refuse(503)
    end
    if route.auth_file then
        ngx.var.fairway_realm = options.auth_realm or "Authentication Required"
        ngx.var.fairway_passwords = ngx.config.prefix() .. "passwords/" .. route.auth_file
    end
end

local function is_of_unknown_length(var)
    return not var.content_length and (var.http_transfer_encoding or var.server_protocol == "HTTP/2.0")
end

-- 0 means no limit. One of these and nginx itself (see `way`) keep to it.
local function limit_known_body(most)
    local length = tonumber(ngx.var.content_length)
    if length and most ~= 0 and length > most then
        return refuse(413)
    end
end

local function body_size()
    local data, path = ngx.req.get_body_data(), ngx.req.get_body_file()
    if data then
        return #data
    end
    local file = path and io.open(path, "rb")
    local size = file and file:seek("end") or 0
    if file then file:close() end
    return size
end

-- nginx has limited it to the next power of two. Over HTTP/2 Lua can't read it, so there that is all.
local function limit_chunked_body(most)
    if most == 0 or ngx.var.content_length or not ngx.var.http_transfer_encoding then
        return
    end
    ngx.req.read_body()
    if body_size() > most then
        return refuse(413)
    end
end

local function is_chosen(canary)
    if canary.header then
        local value = ngx.req.get_headers()[canary.header]
        if type(value) == "table" then value = value[1] end
        if value then
            if canary.header_value then
                if value == canary.header_value then return true end
            elseif canary.header_pattern then
                if re_match(value, canary.header_pattern, "jo") then return true end
            elseif value == "always" then
                return true
            elseif value == "never" then
                return false
            end
        end
    end
    if canary.cookie then
        local value = ngx.var["cookie_" .. canary.cookie]
        if value == "always" then return true end
        if value == "never" then return false end
    end
    return canary.weight and math.random() * (canary.weight_total or 100) < canary.weight
end

local function backend_of(route)
    if route.alternatives then
        for _, alternative in ipairs(route.alternatives) do
            if is_chosen(alternative.canary) then
                return alternative.backend
            end
        end
    end
    return route.backend
end

-- $1, $2… in the target stand for what the groups of the path's expression have matched.
-- (Functions that make functions are never compiled, nor is what calls them: so this one stands apart.)
local function rewrite(options, captures)
    local target = ngx.re.gsub(options.rewrite_target, [[\$(\d)]], function(group)
        return captures and captures[tonumber(group[1])] or ""
    end, "jo")
    if target:sub(1, 1) ~= "/" then
        target = "/" .. target
    end
    if not pcall(ngx.req.set_uri, target) then
        return refuse(400)
    end
end

local function send_to(route, captures)
    local name, options = backend_of(route), route.options
    local backend = state.backend(name)
    requests.begin(route, name, backend)
    ngx.var.fairway_backend = name
    if not backend or #backend.endpoints == 0 then
        return refuse(503)
    end
    if options.upstream_host then
        ngx.var.fairway_host = options.upstream_host
    end
    if options.rewrite_target then
        rewrite(options, captures)
    end
end

-- The short way, for requests that need nothing but an endpoint: gives the backend's name, or nothing, and then
-- the request has to go the long way.
function _M.plain(secure)
    state.refresh()
    local var = ngx.var
    local path = var.uri
    if path == fairway.health then
        return "none"
    end
    local route = routes.find(var.host or "", path)
    if not route or not route.plain or (route.tls and not secure) then
        return ""
    end
    local name = route.backend
    local backend = state.backend(name)
    if not backend or #backend.endpoints == 0 then
        return ""
    end
    requests.begin(route, name, backend)
    var.fairway_ingress = route.ingress
    return name
end

-- Where a request goes that `@long` can't send on: to a server that speaks something else, or with a body of
-- unknown length that has a limit.
local function way(route, var)
    local protocol = route.options.protocol or "HTTP"
    local limit = is_of_unknown_length(var) and route.body_limit or ""
    if protocol == "HTTP" and limit == "" then
        return
    end
    var.fairway_scheme = protocol:lower()
    return (protocol:sub(1, 4) == "GRPC" and "@grpc" or "@proxy") .. limit
end

-- The long way.
function _M.route()
    state.refresh()
    local var = ngx.var
    local path = var.uri
    local route, captures = routes.find(var.host or "", path)
    if not route then
        return refuse(404)
    end
    local options = route.options
    var.fairway_ingress = route.ingress
    requests.begin(route)
    if options.cors and answers.preflight(options.cors) then
        return
    end
    redirects(route, options, path)
    admit(route, options)
    limit_known_body(route.body_bytes)
    local location = way(route, var)
    if location then
        return ngx.exec(location)
    end
    send_to(route, captures)
end

-- After the jump to another location everything kept beside the request is gone; all checks were made before,
-- but for a body that had not been read.
function _M.again()
    state.refresh()
    local route, captures = routes.find(ngx.var.host or "", ngx.var.uri)
    if not route then
        return refuse(404)
    end
    limit_chunked_body(route.body_bytes)
    send_to(route, captures)
end

return _M
