@area-message
Feature: Deduplication, batches, queues, schedules and the life of a message

  Rule: a message that was published before is not published again

    @REQ-DDP-001 @extension
    Scenario: The same deduplication id is delivered once
      Given a destination
      And a message with:
        | header Svc-Deduplication-Id | {an id} |
      When the message is published twice
      Then exactly 1 attempt is made
      And the answer holds:
        | messageId    | {first at messageId} |
        | messageId    | some text            |
        | deduplicated | true                 |

    @REQ-DDP-002 @extension
    Scenario: The same content to the same destination is delivered once
      Given a destination
      And a message with:
        | header Svc-Content-Based-Deduplication | true |
      When the message is published twice
      Then exactly 1 attempt is made

    @REQ-DDP-003 @extension @negative
    Scenario: The same content to another destination is another message
      Given the destinations "orders" and "invoices"
      And a message with:
        | header Svc-Content-Based-Deduplication | true |
      When the same message is published to each of them
      Then the delivery to "orders" and "invoices" holds:
        | body | {body} |

  Rule: a batch publishes all its messages or none

    @REQ-BAT-001 @extension
    Scenario: Every message of a batch is delivered
      Given the destinations "orders" and "invoices"
      When a batch with a message for each of them is published
      Then each destination receives its own message once

    @REQ-BAT-001 @extension
    Scenario: A message of a batch arrives as it was published
      Given a destination
      And a message with:
        | header Svc-Forward-X-Order | order-7 |
      When the message is published in a batch
      Then the delivery holds:
        | header/X-Order | order-7 |
        | body           | {body}  |

    @REQ-BAT-002 @extension @negative
    Scenario: A batch with a bad message delivers none of them
      Given the destinations "orders" and "invoices"
      When a batch with a message for each of them and a bad one is published
      Then the request is refused
      And nothing arrives at "orders" or "invoices"

  Rule: a queue delivers one message after the other

    @REQ-QUE-001 @extension
    Scenario: Messages of a queue arrive in the order of their publication
      Given a destination
      When 5 messages are enqueued
      Then they arrive in the order of their publication

    @REQ-QUE-002 @extension @time-retries
    Scenario: The next message of a queue waits for the final outcome of the one before
      Given a destination that answers 503 once and then 200
      And a message with:
        | header Svc-Retries | 1 |
      When 3 messages are enqueued
      Then they arrive in the order of their publication, the first one twice

  Rule: a callback reports the result of a delivery

    @REQ-CBK-001 @extension
    Scenario: A callback carries the response of the destination
      Given a destination that always answers 201 with a body
      And the message has a callback
      When the message is published
      Then the callback holds:
        | status | 201            |
        | body   | base64 of made |

    @REQ-CBK-002 @extension
    Scenario: A failure callback is sent once, when the message has failed
      Given a destination that always answers 503
      And a message with:
        | header Svc-Retries | 1 |
      And the message has a failure callback
      When the message is published
      Then exactly 2 attempts are made
      And exactly 1 attempt is made at "callback"
      And the callback holds:
        | dlqId | {entry of the message at dlqId} |

    @REQ-CBK-003 @extension @negative
    Scenario: A message that is delivered sends no failure callback
      Given a destination
      And the message has a failure callback
      When the message is published
      Then the message arrives
      And nothing arrives at "callback"

  Rule: a schedule publishes again and again

    @REQ-SCH-001 @extension @time-window @needs-driver-clock
    Scenario: A schedule delivers at every time of its expression
      Given a destination
      And a schedule for every minute
      When 3 minutes pass
      Then between 3 and 4 deliveries have been made

    @REQ-SCH-002 @extension @time-window @negative @needs-driver-clock
    Scenario: A schedule that is paused delivers nothing
      Given a destination
      And a schedule for every minute that is paused
      When 3 minutes pass
      Then between 0 and 0 deliveries have been made

  Rule: a message can be looked at and cancelled while it waits

    @REQ-MSG-001 @extension
    Scenario: A delayed message shows its destination and its body
      Given a destination
      And a message with:
        | header Svc-Delay | 60 seconds |
      When the message is published
      Then the message holds:
        | url  | {destination} |
        | body | {body}        |

    @REQ-MSG-002 @extension
    Scenario: A cancelled message is not delivered
      Given a destination
      And a message with:
        | header Svc-Delay | 60 seconds |
      When the message is published and cancelled
      Then nothing arrives at the destination

  Rule: a message that has failed is kept until it is retried or deleted

    @REQ-MDL-001 @extension
    Scenario: A failed message is in the dead letter queue with its last response
      Given a destination that always answers 503
      And a message with:
        | header Svc-Retries | 0 |
      When the message is published
      Then the entry of the message holds:
        | responseStatus | 503 |

    @REQ-MDL-002 @extension
    Scenario: A retried message is delivered again and leaves the queue
      Given a destination that answers 503 once and then 200
      And a message with:
        | header Svc-Retries | 0 |
      When the message is published and its entry is retried
      Then exactly 2 attempts are made
      And the message has exactly 0 entries in the dead letter queue

  Rule: the logs tell the states of a message in order

    @REQ-MLG-001 @extension
    Scenario: A delivered message was created, active and delivered
      Given a destination
      When the message is published
      Then the message is recorded as "CREATED ACTIVE DELIVERED"

    @REQ-MLG-002 @extension
    Scenario: A failed message was tried again and then failed
      Given a destination that always answers 503
      And a message with:
        | header Svc-Retries | 1 |
      When the message is published
      Then the message is recorded as "CREATED ACTIVE ERROR RETRY ACTIVE ERROR FAILED"

  Rule: a delivery is signed

    @REQ-SGN-001 @extension
    Scenario: The signature of a delivery holds for its body and its destination
      Given a destination
      And a message with:
        | body | JSON with odd spacing |
      When the message is published
      Then the delivery is signed with the current key for its body and its destination
