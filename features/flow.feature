@area-flow @cap-flow-resume
Feature: Resuming a flow-control key

  Rule: a resume lets the messages that a key holds be delivered

    @REQ-FLC-001 @stated
    Scenario: Messages that a key holds are delivered once it is resumed
      Given a paused flow-control key that holds 3 messages
      And no held message has arrived when a sentinel without a key does
      When the key is resumed
      Then all held messages arrive

    @REQ-PUB-005 @stated @cap-publish-query-config
    Scenario: The flow-control key of a message is configured by the query
      Given a paused flow-control key that holds 1 message
      And no held message has arrived when a sentinel without a key does
      And a message with:
        | query parameter {flow_key}   | {key}         |
        | query parameter {flow_value} | parallelism=5 |
      When a message is published to the other destination
      Then nothing arrives at the other destination

    @REQ-FLC-001 @stated
    Scenario: A key that is paused again is resumed again
      Given a flow-control key that was paused and resumed before
      And a paused flow-control key that holds 2 messages
      When the key is resumed
      Then all held messages arrive

    @REQ-FLC-003 @implied @negative
    Scenario: Resuming a key leaves one whose name begins with it
      Given a paused flow-control key that holds 1 message
      And another paused flow-control key with a longer name that holds 1 message
      When the key is resumed
      Then all held messages arrive
      And nothing arrives at the other destination

    @REQ-FLC-005 @implied
    Scenario: A message that was held arrives as it was published
      Given a paused flow-control key that holds 3 messages
      When the key is resumed
      Then all held messages arrive
      And each held message has its own body

    @REQ-FLC-003 @implied @negative
    Scenario: Resuming a key leaves what another key holds
      Given a paused flow-control key that holds 2 messages
      And another paused flow-control key that holds 1 message
      When the key is resumed
      Then all held messages arrive
      And nothing arrives at the other destination

    @REQ-FLC-004 @implied
    Scenario Outline: A key of <kind> is one encoded path segment
      Given a paused flow-control key of <kind> that holds 1 message
      When the key is resumed
      Then all held messages arrive

      Examples: characters that a path treats in its own way
        | kind               |
        | letters and digits |
        | a slash            |
        | a space            |
        | a percent sign     |
        | a question mark    |

  Rule: an error is an object with a text

    @REQ-FLC-002 @stated @shape
    Scenario: The error of a resume is an object with the text "error"
      When a key that never existed is resumed
      Then the answer is a success, or an object with the text "error"
