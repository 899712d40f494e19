@area-group
Feature: Publishing to a URL group

  Rule: a publish to a URL group triggers every endpoint of the group

    @REQ-PUB-002 @stated
    Scenario: Every endpoint receives the published body
      Given a URL group with the endpoints "alpha", "beta" and "gamma"
      When a message is published to the group
      Then the delivery to "alpha", "beta" and "gamma" holds:
        | body | {body} |

    @REQ-PUB-002 @stated
    Scenario: A failing endpoint does not silence its neighbours
      Given a URL group with the endpoints "alpha", "beta" and "gamma"
      And the endpoint "beta" always answers 500
      And a message with:
        | header Svc-Retries | 0 |
      When a message is published to the group
      Then the delivery to "alpha", "beta" and "gamma" holds:
        | body | {body} |

    @REQ-PUB-002 @stated @negative
    Scenario: Endpoints of another group receive nothing
      Given a URL group with the endpoints "alpha" and "beta"
      And another URL group with the endpoint "gamma"
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | body | {body} |
      And nothing arrives at "gamma"

    @REQ-PUB-002 @stated @negative
    Scenario: A group whose name begins with that of another has its own endpoints
      Given a URL group with the endpoints "alpha" and "beta"
      And another URL group with a longer name and the endpoint "gamma"
      When a message is published to the other group
      Then the delivery to "gamma" holds:
        | body | {body} |
      And nothing arrives at "alpha"

    @REQ-PUB-002 @stated
    Scenario: An endpoint that fails does not silence its neighbours for the next message
      Given a URL group with the endpoints "alpha", "beta" and "gamma"
      And the endpoint "beta" always answers 500
      And a message with:
        | header Svc-Retries | 0 |
      When two messages are published to the group one after the other
      Then the endpoints "alpha", "beta" and "gamma" each receive the 2 messages of the group

    @REQ-PUB-003 @REQ-PUB-004 @stated
    Scenario Outline: A group takes the token in the <place>
      Given a URL group with the endpoints "alpha" and "beta"
      When a message is published to the group with the token in the <place> only
      Then the delivery to "alpha" and "beta" holds:
        | body | {body} |

      Examples: both places
        | place  |
        | header |
        | query  |

  Rule: the configuration of a message holds for every endpoint of the group

    @REQ-PUB-005 @stated @cap-publish-query-config
    Scenario: Configuration in the query holds for a group
      Given a URL group with the endpoints "alpha" and "beta"
      And the endpoint "alpha" always answers 503
      And a message with:
        | query parameter Svc-Retries | 0 |
      When a message is published to the group
      Then exactly 1 attempt is made at "alpha"

    @REQ-RTY-001 @stated @time-retries
    Scenario: A delivery to an endpoint of a group is tried again
      Given a URL group with the endpoints "alpha" and "beta"
      And the endpoint "alpha" answers 503 once and then 200
      And a message with:
        | header Svc-Retries | 1 |
      When a message is published to the group
      Then exactly 2 attempts are made at "alpha"

    @REQ-PUB-006 @implied
    Scenario: A header with the forward prefix reaches every endpoint without it
      Given a URL group with the endpoints "alpha" and "beta"
      And a message with:
        | header Svc-Forward-X-Order | order-51 |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Order | order-51 |

    @REQ-PUB-007 @stated @negative
    Scenario: A header without the prefix reaches no endpoint
      Given a URL group with the endpoints "alpha" and "beta"
      And a message with:
        | header X-Order | order-52 |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header | not contains order-52 |

    @REQ-PUB-008 @stated
    Scenario: All headers reach every endpoint when a header asks for it
      Given a URL group with the endpoints "alpha" and "beta"
      And a message with:
        | header Svc-Header-Forward | true     |
        | header X-Order            | order-53 |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Order | order-53 |

    @REQ-PUB-009 @stated
    Scenario: All headers reach every endpoint when a query parameter asks for it
      Given a URL group with the endpoints "alpha" and "beta"
      And a message with:
        | query parameter Svc-Header-Forward | true     |
        | header X-Order                     | order-54 |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Order | order-54 |

    @REQ-PUB-010 @stated @time-delay
    Scenario: A delay holds for every endpoint
      Given a URL group with the endpoints "alpha" and "beta"
      And a message with:
        | header Svc-Delay | 3 seconds |
      When a message is published to the group
      Then the message is not delivered to "alpha" and "beta" before its delay has passed

  Rule: an update sets default headers for every request to the group

    @REQ-GRP-001 @REQ-GRP-002 @stated
    Scenario: A default header that is given as a string reaches every endpoint
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | X-Team             | blue |
        | Svc-Header-Forward | true |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Team | blue |

    @REQ-GRP-001 @REQ-GRP-002 @stated
    Scenario: A default header that is given as an array reaches every endpoint
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | X-Team             | green, gold |
        | Svc-Header-Forward | true        |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Team | green, gold |

    @REQ-GRP-002 @stated
    Scenario: A default header is on every request to the group, not on the first alone
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | X-Team             | red  |
        | Svc-Header-Forward | true |
      When two messages are published to the group one after the other
      Then both deliveries to "alpha" and "beta" hold:
        | header/X-Team | red |

    @REQ-GRP-002 @stated
    Scenario: A second update of a default header counts
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | X-Team             | cyan |
        | Svc-Header-Forward | true |
      And the group is updated with the default headers:
        | X-Team             | teal |
        | Svc-Header-Forward | true |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Team | teal |

    @REQ-GRP-002 @stated
    Scenario: All default headers of an update reach every endpoint
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | X-Team             | pink  |
        | X-Zone             | north |
        | Svc-Header-Forward | true  |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Team | pink  |
        | header/X-Zone | north |

    @REQ-GRP-002 @stated
    Scenario: A default header is on a message whose token is in the query
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | X-Team             | lime |
        | Svc-Header-Forward | true |
      When a message is published to the group with the token in the query only
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Team | lime |

    @REQ-GRP-002 @stated @time-retries
    Scenario: A default header is on the retry of a delivery
      Given a URL group with the endpoint "alpha"
      And the group is updated with the default headers:
        | X-Team             | gray |
        | Svc-Header-Forward | true |
      And the endpoint "alpha" answers 503 once and then 200
      And a message with:
        | header Svc-Retries | 1 |
      When a message is published to the group
      Then exactly 2 attempts are made at "alpha"
      And both deliveries to "alpha" hold:
        | header/X-Team | gray |

    @REQ-GRP-002 @stated @time-retries
    Scenario: Both values of a default header are on the retry of a delivery
      Given a URL group with the endpoint "alpha"
      And the group is updated with the default headers:
        | X-Team             | plum, rose |
        | Svc-Header-Forward | true       |
      And the endpoint "alpha" answers 503 once and then 200
      And a message with:
        | header Svc-Retries | 1 |
      When a message is published to the group
      Then exactly 2 attempts are made at "alpha"
      And both deliveries to "alpha" hold:
        | header/X-Team | plum, rose |

    @REQ-GRP-002 @implied @negative
    Scenario: A default header of a group is not on requests to another group
      Given a URL group with the endpoints "alpha" and "beta"
      And another URL group with a longer name and the endpoint "gamma"
      And the group is updated with the default headers:
        | X-Team             | navy |
        | Svc-Header-Forward | true |
      When a message is published to the other group
      Then the delivery to "gamma" holds:
        | body   | {body}            |
        | header | not contains navy |

    @REQ-GRP-002 @implied @negative
    Scenario: A default header of a group is not on requests to a URL
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | X-Team             | violet |
        | Svc-Header-Forward | true   |
      And a destination
      When the message is published
      Then the delivery holds:
        | header | not contains violet |

  Rule: default headers may carry configuration

    @REQ-GRP-003 @stated
    Scenario: Retries that are a default header of the group hold for its endpoints
      Given a URL group with the endpoints "alpha" and "beta"
      And the endpoint "alpha" always answers 503
      And the group is updated with the default headers:
        | Svc-Retries | 0 |
      When a message is published to the group
      Then exactly 1 attempt is made at "alpha"
      And exactly 1 attempt is made at "beta"

    @REQ-GRP-003 @stated
    Scenario: Header forwarding that is a default header of the group holds for its endpoints
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | Svc-Header-Forward | true |
      And a message with:
        | header X-Order | order-91 |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header/X-Order | order-91 |

    @REQ-GRP-003 @stated @time-retries
    Scenario: The number of retries that is a default header counts
      Given a URL group with the endpoints "alpha" and "beta"
      And the endpoint "alpha" answers 503 once and then 200
      And the group is updated with the default headers:
        | Svc-Retries | 1 |
      When a message is published to the group
      Then exactly 2 attempts are made at "alpha"

    @REQ-GRP-003 @stated @negative
    Scenario: Header forwarding that is switched off by a default header forwards nothing
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | Svc-Header-Forward | false |
      And a message with:
        | header X-Order | order-92 |
      When a message is published to the group
      Then the delivery to "alpha" and "beta" holds:
        | header | not contains order-92 |

    @REQ-GRP-003 @stated @time-delay
    Scenario: A delay that is a default header of the group holds for its endpoints
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default headers:
        | Svc-Delay | 3 seconds |
      When a message is published to the group
      Then the message is not delivered to "alpha" and "beta" before its delay has passed
