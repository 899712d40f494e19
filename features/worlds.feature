@area-worlds
Feature: Worlds of messages

  Generated messages that differ in every option are under way at once.

  Rule: what the document says of one message holds for each of them

    @REQ-PUB-003 @stated @time-retries @time-delay
    Scenario: In worlds of messages a publish with the token in the header is accepted
      Given worlds of messages
      When everything in them has happened
      Then for every message, a publish with the token in the header is accepted

    @REQ-PUB-004 @stated @time-retries @time-delay
    Scenario: In worlds of messages a publish with the token in the query is accepted
      Given worlds of messages
      When everything in them has happened
      Then for every message, a publish with the token in the query is accepted

    @REQ-PUB-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages a message to a URL arrives there
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message to a URL arrives there

    @REQ-PUB-002 @stated @time-retries @time-delay
    Scenario: In worlds of messages a message to a group arrives at every endpoint
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message to a group arrives at every endpoint

    @REQ-FLC-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages a message that a key holds arrives after the resume
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message that a key holds arrives after the resume

    @REQ-FLC-003 @implied @time-retries @time-delay
    Scenario: In worlds of messages a message stays held while only other keys are resumed
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message stays held while only other keys are resumed

    @REQ-PUB-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages nothing arrives that was not published there
      Given worlds of messages
      When everything in them has happened
      Then for every message, nothing arrives that was not published there

    @REQ-PUB-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt is at the path and the query of the destination
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt is at the path and the query of the destination

    @REQ-RTY-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages an endpoint that fails is tried as often as the message allows
      Given worlds of messages
      When everything in them has happened
      Then for every message, an endpoint that fails is tried as often as the message allows

    @REQ-RTY-002 @stated @time-retries @time-delay
    Scenario: In worlds of messages an endpoint is not tried more often than the message allows
      Given worlds of messages
      When everything in them has happened
      Then for every message, an endpoint is not tried more often than the message allows

    @REQ-RTY-003 @implied @time-retries @time-delay
    Scenario: In worlds of messages an endpoint that has answered with a success is not tried again
      Given worlds of messages
      When everything in them has happened
      Then for every message, an endpoint that has answered with a success is not tried again

    @REQ-PUB-010 @stated @time-retries @time-delay
    Scenario: In worlds of messages nothing arrives before the delay has passed
      Given worlds of messages
      When everything in them has happened
      Then for every message, nothing arrives before the delay has passed

    @REQ-PUB-010 @implied @time-retries @time-delay
    Scenario: In worlds of messages a message is not delayed by what does not configure it
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message is not delayed by what does not configure it

    @REQ-PUB-011 @implied @time-retries @time-delay
    Scenario: In worlds of messages every attempt has the body of the message
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt has the body of the message

    @REQ-PUB-006 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries the values of the forwarded headers
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries the values of the forwarded headers

    @REQ-PUB-006 @implied @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries the forwarded headers under their names
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries the forwarded headers under their names

    @REQ-PUB-007 @stated @time-retries @time-delay
    Scenario: In worlds of messages no attempt carries a header that is not forwarded
      Given worlds of messages
      When everything in them has happened
      Then for every message, no attempt carries a header that is not forwarded

    @REQ-PUB-008 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries all headers when the message forwards all
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries all headers when the message forwards all

    @REQ-PUB-009 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries all headers when the message forwards all by query
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries all headers when the message forwards all by query

    @REQ-GRP-002 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries the default headers of the group
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries the default headers of the group

    @REQ-GRP-002 @implied @time-retries @time-delay
    Scenario: In worlds of messages no attempt carries the default headers of another group
      Given worlds of messages
      When everything in them has happened
      Then for every message, no attempt carries the default headers of another group

    @REQ-PUB-014 @stated @time-retries @time-delay
    Scenario: In worlds of messages the callback of the outcome is called
      Given worlds of messages
      When everything in them has happened
      Then for every message, the callback of the outcome is called

    @REQ-PUB-014 @implied @time-retries @time-delay
    Scenario: In worlds of messages the failure callback is not called after a success
      Given worlds of messages
      When everything in them has happened
      Then for every message, the failure callback is not called after a success

    @REQ-AUT-006 @implied @leak @time-retries @time-delay
    Scenario: In worlds of messages no delivery and no callback shows the credential of the publisher
      Given worlds of messages
      When everything in them has happened
      Then for every message, no delivery and no callback shows the credential of the publisher
