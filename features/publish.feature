@area-publish
Feature: Publishing a message

  Rule: a message that is published to a URL is delivered to that URL

    @REQ-PUB-001 @stated
    Scenario Outline: A message arrives at the path <path> of its destination
      Given a destination
      When a message is published to the path "<path>" of the destination
      Then the delivery holds:
        | path | <path> |

      Examples: forms of a path that careless handling changes
        | path            |
        | /orders/7       |
        | /orders/        |
        | /a//b           |
        | /a%2Fb/%20c     |
        | /caf%C3%A9/%25  |
        | /v2/publish/x.y |
        | /Orders/ABC     |
        | /a;v=1/b;w=2    |
        | /a+b            |

    @REQ-PUB-001 @implied
    Scenario Outline: A message arrives with the query <query> of its destination
      Given a destination
      When a message is published to the path "<query>" of the destination
      Then the delivery holds:
        | path | <query> |

      Examples: queries that are the destination's own
        | query               |
        | /hook?x=1           |
        | /hook?x=1&y=%20a&x=2 |

    @REQ-PUB-001 @stated
    Scenario: Two messages to two destinations arrive where they belong
      Given the destinations "orders" and "invoices"
      When a message is published to each of them
      Then each destination receives its own message once

    @REQ-PUB-001 @implied
    Scenario: A message that is the same as another one arrives as well
      Given a destination
      When the message is published twice
      Then both messages arrive

  Rule: the body reaches the destination as it was sent

    @REQ-PUB-011 @implied
    Scenario Outline: A body of <kind> arrives byte for byte
      Given a destination
      And a message with:
        | body | <kind> |
      When the message is published
      Then the delivery holds:
        | body | {body} |

      Examples: bodies that careless handling changes
        | kind                        |
        | JSON with odd spacing       |
        | nothing                     |
        | text in several scripts     |
        | every byte value            |
        | 200 KiB of pseudo-random bytes |
        | a form                      |

  Rule: a token opens the publish operation

    @REQ-PUB-003 @stated
    Scenario: The token is accepted as a Bearer header
      Given a destination
      When a message is published with the token in the header only
      Then the message arrives

    @REQ-PUB-004 @stated
    Scenario: The token is accepted as a query parameter without any header
      Given a destination
      When a message is published with the token in the query only
      Then the message arrives

    @REQ-PUB-003 @stated @cap-publish-query-config
    Scenario: The token in the header counts beside configuration in the query
      Given a destination
      And a message with:
        | query parameter Svc-Retries | 0 |
      When a message is published with the token in the header only
      Then the message arrives

    @REQ-PUB-004 @stated @cap-publish-query-config
    Scenario: The token in the query counts beside configuration in the query
      Given a destination
      And a message with:
        | query parameter Svc-Retries | 0 |
      When a message is published with the token in the query only
      Then the message arrives

  Rule: each configuration header has an equivalent lowercase query parameter

    @REQ-PUB-005 @stated @cap-publish-query-config
    Scenario: Retries are configured by the query
      Given a destination that always answers 503
      And a message with:
        | query parameter Svc-Retries | 0 |
      When the message is published
      Then exactly 1 attempt is made

    @REQ-PUB-005 @stated @cap-publish-query-config
    Scenario: A query parameter counts beside a configuration header
      Given a destination that always answers 503
      And a message with:
        | query parameter Svc-Retries | 0        |
        | header Svc-Header-Forward   | true     |
        | header X-Order              | order-71 |
      When the message is published
      Then exactly 1 attempt is made
      And the delivery holds:
        | header/X-Order | order-71 |

    @REQ-PUB-005 @stated @time-retries @cap-publish-query-config
    Scenario: The number of retries in the query counts
      Given a destination that answers 503 once and then 200
      And a message with:
        | query parameter Svc-Retries | 1 |
      When the message is published
      Then exactly 2 attempts are made

    @REQ-PUB-005 @stated @cap-publish-query-config
    Scenario: A failure callback is configured by the query
      Given a destination that always answers 503
      And a message with:
        | query parameter Svc-Retries        | 0                  |
        | query parameter {failure_callback} | {failure callback} |
      When the message is published
      Then exactly 1 attempt is made
      And a call arrives at "failure callback"

    @REQ-PUB-005 @REQ-PUB-010 @stated @time-delay @cap-publish-query-config
    Scenario: A delay is configured by the query
      Given a destination
      And a message with:
        | query parameter Svc-Delay | 3 seconds |
      When the message is published
      Then the message is not delivered before its delay has passed

    @REQ-PUB-010 @stated @time-delay
    Scenario: A delay is configured by a header
      Given a destination
      And a message with:
        | header Svc-Delay | 3 seconds |
      When the message is published
      Then the message is not delivered before its delay has passed

    @REQ-PUB-001 @REQ-PUB-005 @stated @negative @cap-publish-query-config
    Scenario: Configuration in the query is no part of the destination
      Given a destination
      And a message with:
        | query parameter Svc-Retries        | 0    |
        | query parameter Svc-Header-Forward | true |
      When a message is published to the path "/orders/7" of the destination
      Then the delivery holds:
        | path | /orders/7 |

  Rule: by default only headers with the forward prefix are forwarded

    @REQ-PUB-006 @stated
    Scenario: A header with the forward prefix reaches the destination
      Given a destination
      And a message with:
        | header Svc-Forward-X-Order | order-72 |
      When the message is published
      Then the delivery holds:
        | header | contains order-72 |

    @REQ-PUB-006 @implied
    Scenario: A forwarded header arrives without the prefix
      Given a destination
      And a message with:
        | header Svc-Forward-X-Order | order-73 |
      When the message is published
      Then the delivery holds:
        | header/X-Order | order-73 |

    @REQ-PUB-006 @implied
    Scenario: Several forwarded headers arrive each under its own name
      Given a destination
      And a message with:
        | header Svc-Forward-X-Order    | order-74   |
        | header Svc-Forward-X-Customer | customer-9 |
      When the message is published
      Then the delivery holds:
        | header/X-Order    | order-74   |
        | header/X-Customer | customer-9 |

    @REQ-PUB-006 @stated
    Scenario: A header with the forward prefix is forwarded when the token is in the query
      Given a destination
      And a message with:
        | header Svc-Forward-X-Order | order-62 |
      When a message is published with the token in the query only
      Then the delivery holds:
        | header | contains order-62 |

    @REQ-PUB-006 @implied
    Scenario: All values of a forwarded header arrive
      Given a destination
      And a message with:
        | header Svc-Forward-X-Order | order-63 |
        | header Svc-Forward-X-Order | order-64 |
      When the message is published
      Then the delivery holds:
        | header/X-Order | order-63, order-64 |

    @REQ-PUB-007 @stated @negative
    Scenario Outline: With header forwarding set to false by a <place> a header stays behind
      Given a destination
      And a message with:
        | <place> Svc-Header-Forward | false    |
        | header X-Order             | order-65 |
      When the message is published
      Then the delivery holds:
        | header | not contains order-65 |

      Examples: both places
        | place           |
        | header          |
        | query parameter |

    @REQ-PUB-007 @stated @negative
    Scenario: The credential of the publisher stays behind
      Given a destination
      When a message is published with the token in the header only
      Then the delivery holds:
        | header | not contains {token} |

    @REQ-AUT-006 @implied @leak @negative
    Scenario: The credential in the query of a publish address stays behind
      Given a destination
      And a message with:
        | query parameter Svc-Retries | 0 |
      When a payment provider calls the publish address
      Then the credential is in nothing that the target sent

    @REQ-PUB-007 @stated @negative
    Scenario: A cookie stays behind
      Given a destination
      And a message with:
        | header Cookie | session=order-66 |
      When the message is published
      Then the delivery holds:
        | header | not contains session=order-66 |

    @REQ-PUB-007 @stated @negative
    Scenario: A header without the prefix stays behind
      Given a destination
      And a message with:
        | header X-Order | order-75 |
      When the message is published
      Then the delivery holds:
        | header | not contains order-75 |

  Rule: all incoming headers are forwarded when the message asks for it

    @REQ-PUB-008 @stated
    Scenario: All headers are forwarded when a header asks for it
      Given a destination
      And a message with:
        | header Svc-Header-Forward | true     |
        | header X-Order            | order-76 |
        | header X-Event-Id         | evt-4    |
      When the message is published
      Then the delivery holds:
        | header/X-Order    | order-76 |
        | header/X-Event-Id | evt-4    |

    @REQ-PUB-009 @stated
    Scenario: All headers are forwarded when a query parameter asks for it
      Given a destination
      And a message with:
        | query parameter Svc-Header-Forward | true     |
        | header X-Order                     | order-77 |
      When the message is published
      Then the delivery holds:
        | header/X-Order | order-77 |

    @REQ-PUB-008 @stated
    Scenario: Headers of every name are forwarded when a header asks for it
      Given a destination
      And a message with:
        | header Svc-Header-Forward | true     |
        | header Shop-Signature     | order-67 |
      When the message is published
      Then the delivery holds:
        | header/Shop-Signature | order-67 |

    @REQ-PUB-008 @stated
    Scenario: All values of a header are forwarded when a header asks for it
      Given a destination
      And a message with:
        | header Svc-Header-Forward | true     |
        | header X-Order            | order-68 |
        | header X-Order            | order-69 |
      When the message is published
      Then the delivery holds:
        | header/X-Order | order-68, order-69 |

    @REQ-PUB-009 @stated
    Scenario: Headers of every name are forwarded when a query parameter asks for it
      Given a destination
      And a message with:
        | query parameter Svc-Header-Forward | true     |
        | header Shop-Signature              | order-70 |
        | header X-Event-Id                  | evt-5    |
      When the message is published
      Then the delivery holds:
        | header/Shop-Signature | order-70 |
        | header/X-Event-Id     | evt-5    |

  Rule: the credential of the publisher stays with the target

    @REQ-AUT-006 @implied @leak @negative @time-retries
    Scenario: The credential is in nothing that is sent for a message that is tried again
      Given a destination that answers 503 once and then 200
      And a message with:
        | header Svc-Retries | 1 |
      When the message is published
      Then exactly 2 attempts are made
      And the credential is in nothing that the target sent

  Rule: a message is configured with its timeout and its callbacks

    @REQ-PUB-013 @stated @time-retries
    Scenario Outline: A delivery that exceeds the timeout in a <place> has failed
      Given a destination that answers after 6 seconds once and then 200
      And a message with:
        | <place> {timeout?} | 1 second |
        | header Svc-Retries | 1 |
      When the message is published
      Then exactly 2 attempts are made

      Examples: both places
        | place           |
        | header          |
        | query parameter |

    @REQ-PUB-013 @stated @negative
    Scenario: A delivery within its timeout succeeds
      Given a destination that answers after 1 second once and then 200
      And a message with:
        | header {timeout?}  | 10 seconds |
        | header Svc-Retries | 1          |
      When the message is published
      Then exactly 1 attempt is made

    @REQ-PUB-014 @stated
    Scenario Outline: The callback of a message in a <place> is called
      Given a destination
      And a message with:
        | <place> {callback?} | {success callback} |
      When the message is published
      Then the message arrives
      And a call arrives at "success callback"

      Examples: both places
        | place           |
        | header          |
        | query parameter |
