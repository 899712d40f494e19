@area-limit @cap-ratelimit
Feature: Limiting the rate of a host application

  Rule: a configuration has its required keys

    @REQ-RLP-001 @stated
    Scenario Outline: A configuration without <key> is refused
      Given a route limited to 3 requests per "1h" by the "fixed-window" algorithm
      And the plugin is configured with:
        | <key> | absent |
      When the host application starts
      Then the configuration is refused

      Examples: the required keys
        | key                            |
        | token                          |
        | url                            |
        | strategy                       |
        | strategy/0/methods             |
        | strategy/0/path                |
        | strategy/0/identifierSource    |
        | strategy/0/limiter             |
        | strategy/0/limiter/algorithm   |
        | strategy/0/limiter/tokens      |
        | strategy/0/limiter/window      |

    @REQ-RLP-001 @stated
    Scenario: A configuration with all required keys is accepted
      Given a route limited to 3 requests per "1h" by the "fixed-window" algorithm
      When the host application starts
      Then the configuration is accepted

    @REQ-RLP-009 @stated @negative
    Scenario: The spelling tokenBucket is not accepted
      Given a route limited to 3 requests per "1h" by the "tokenBucket" algorithm
      When the host application starts
      Then the configuration is refused

    @REQ-RLP-008 @stated @negative
    Scenario Outline: A window of <window> is refused
      Given a route limited to 2 requests per "<window>" by the "fixed-window" algorithm
      When the host application starts
      Then the configuration is refused

      Examples: no number, and no unit of the list
        | window |
        | 10w    |
        | m      |
        | 10     |

  Rule: the plugin can be switched off

    @REQ-RLP-002 @stated
    Scenario: The plugin limits unless it is switched off
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      When one client sends 2 requests
      Then the first 1 requests reach the application
      And the last request is denied

    @REQ-RLP-002 @stated
    Scenario: A plugin that is switched on limits
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      And the plugin is configured with:
        | enabled | true |
      When one client sends 2 requests
      Then the first 1 requests reach the application
      And the last request is denied

    @REQ-RLP-002 @stated
    Scenario: A plugin that is switched off limits nothing
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      And the plugin is configured with:
        | enabled | false |
      When one client sends 4 requests
      Then the first 4 requests reach the application

  Rule: a strategy limits its methods and its routes

    @REQ-RLP-003 @stated @negative
    Scenario: A method that is not listed is not limited
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      And the plugin is configured with:
        | strategy/0/methods | GET |
      When one client sends 3 requests with the method "POST"
      Then the first 3 requests reach the application

    @REQ-RLP-005 @stated
    Scenario Outline: The path <path> covers <asked>
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      And the plugin is configured with:
        | strategy/0/path | <path> |
      When one client sends 2 requests to "<asked>"
      Then the first 1 requests reach the application
      And the last request is denied

      Examples: wildcards and parameters
        | path               | asked           |
        | *                  | /               |
        | *                  | /api/orders/7   |
        | /api/*             | /api/orders     |
        | /api/orders/:id    | /api/orders/7   |
        | /api/orders        | /api/orders     |

    @REQ-RLP-005 @stated @negative
    Scenario: A path that no strategy names is not limited
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      And the plugin is configured with:
        | strategy/0/path | /api/orders/:id |
      When one client sends 3 requests to "/api/customers"
      Then the first 3 requests reach the application

    @REQ-RLP-005 @implied @negative
    Scenario: A path with more segments than the pattern is not limited
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      And the plugin is configured with:
        | strategy/0/path | /api/orders/:id |
      When one client sends 3 requests to "/api/orders/7/items"
      Then the first 3 requests reach the application

  Rule: requests with the same identifier share one limit

    @REQ-RLP-006 @stated
    Scenario: Clients are identified by the value of a header
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      And one client has used up its limit
      When another client sends 1 request
      Then the first 2 requests reach the application

    @REQ-RLP-007 @stated
    Scenario: One client does not use up the limit of another
      Given a route limited to 2 requests per "1h" by the "fixed-window" algorithm
      And one client has used up its limit
      When another client sends 2 requests
      Then the last 2 requests reach the application

  Rule: the algorithms count as described

    @REQ-RLP-010 @stated @time-window
    Scenario: A fixed window admits its tokens and then denies
      Given a route limited to 5 requests per "1h" by the "fixed-window" algorithm
      When one client sends 6 requests
      Then the first 5 requests reach the application
      And the last request is denied

    @REQ-RLP-011 @stated @time-window
    Scenario: A sliding window admits its tokens and then denies
      Given a route limited to 5 requests per "1h" by the "sliding-window" algorithm
      When one client sends 6 requests
      Then the first 5 requests reach the application
      And the last request is denied

    @REQ-RLP-011 @stated @time-window @last
    Scenario: A sliding window does not admit a second burst half a window later
      Given a route limited to 3 requests per "1200ms" by the "sliding-window" algorithm
      And one client has used up its limit late in a window
      When the same client sends 3 requests half a window later
      Then at most 2 of those requests reach the application

    @REQ-RLP-012 @stated @time-window
    Scenario: An empty bucket denies
      Given a route limited to 3 requests per "1h" by the "token-bucket" algorithm
      When one client sends 4 requests
      Then the first 3 requests reach the application
      And the last request is denied

    @REQ-RLP-012 @stated @time-window @last
    Scenario: A bucket is refilled at its rate, and no faster
      Given a route limited to 3 requests per "800ms" by the "token-bucket" algorithm
      And the plugin is configured with:
        | strategy/0/limiter/refillRate | 1 |
      And one client has used up its limit
      When the same client sends 3 requests a window later
      Then exactly 1 of those requests reaches the application

    @REQ-RLP-012 @implied @time-window @last
    Scenario: A bucket never holds more than its tokens
      Given a route limited to 2 requests per "200ms" by the "token-bucket" algorithm
      And the plugin is configured with:
        | strategy/0/limiter/refillRate | 2 |
      And one client has used up its limit
      When the same client sends 5 requests three windows later
      Then at most 4 of those requests reach the application

    @REQ-RLP-013 @implied @negative
    Scenario: A denied request does not reach the application
      Given a route limited to 1 requests per "1h" by the "fixed-window" algorithm
      When one client sends 3 requests
      Then the application has seen exactly 1 request

  Rule: the counters are kept in the configured storage

    @REQ-RLP-004 @stated
    Scenario: The key of a counter is made of prefix, method, route and identifier
      Given a route limited to 3 requests per "1h" by the "fixed-window" algorithm
      And the plugin is configured with:
        | prefix             | shop            |
        | strategy/0/methods | GET             |
        | strategy/0/path    | /api/orders/:id |
      When one client sends 1 requests to "/api/orders/7"
      Then the storage has been asked for a key of prefix, method, route and identifier

    @REQ-RLP-014 @stated
    Scenario: The plugin signs in to the storage with its token
      Given a route limited to 3 requests per "1h" by the "fixed-window" algorithm
      When one client sends 1 requests
      Then every request to the storage carried the configured token
