@area-retry
Feature: Retrying a delivery

  Rule: a delivery that fails is tried again, as often as the message allows

    @REQ-RTY-001 @stated @time-retries
    Scenario: A delivery that failed once succeeds with its retry
      Given a destination that answers 503 once and then 200
      And a message with:
        | header Svc-Retries | 1 |
      When the message is published
      Then exactly 2 attempts are made
      And the last attempt holds:
        | answered | 200 |

    @REQ-RTY-001 @time-retries
    Scenario Outline: An answer of <status> is a failed delivery
      Given a destination that answers <status> once and then 200
      And a message with:
        | header Svc-Retries | 1 |
      When the message is published
      Then exactly 2 attempts are made

      @stated
      Examples: errors of the server
        | status |
        | 500    |
        | 502    |
        | 504    |

      @implied
      Examples: refusals of the request
        | status |
        | 400    |
        | 404    |
        | 429    |

    @REQ-RTY-001 @stated @time-retries
    Scenario: A connection that breaks is a failed delivery
      Given a destination that answers a broken connection once and then 200
      And a message with:
        | header Svc-Retries | 1 |
      When the message is published
      Then exactly 2 attempts are made

    @REQ-RTY-002 @stated @time-retries
    Scenario Outline: A message that is allowed <retries> retries is tried <attempts> times and no more
      Given a destination that always answers 503
      And a message with:
        | header Svc-Retries | <retries> |
      When the message is published
      Then exactly <attempts> attempts are made

      Examples: one, and more than one
        | retries | attempts |
        | 1       | 2        |
        | 2       | 3        |
        | 4       | 5        |

    @REQ-RTY-004 @stated
    Scenario: Without retries there is one attempt
      Given a destination that always answers 503
      And a message with:
        | header Svc-Retries | 0 |
      When the message is published
      Then exactly 1 attempt is made

    @REQ-RTY-003 @implied @negative
    Scenario: After a success there is no further attempt
      Given a destination
      And a message with:
        | header Svc-Retries | 2 |
      When the message is published
      Then exactly 1 attempt is made
      And the last attempt holds:
        | answered | 200 |

    @REQ-RTY-001 @implied @time-retries
    Scenario: Every attempt carries the same body and the same forwarded headers
      Given a destination that answers 503 once and then 200
      And a message with:
        | header Svc-Retries         | 1                     |
        | body                       | JSON with odd spacing |
        | header Svc-Forward-X-Order | order-81              |
      When the message is published
      Then exactly 2 attempts are made
      And every attempt holds:
        | body           | {body}   |
        | header/X-Order | order-81 |

    @REQ-RTY-003 @implied @negative
    Scenario Outline: An answer of <status> is a success
      Given a destination that always answers <status>
      And a message with:
        | header Svc-Retries | 1 |
      When the message is published
      Then exactly 1 attempt is made

      Examples: codes that are not 200
        | status |
        | 201    |
        | 204    |
        | 299    |
