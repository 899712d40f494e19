@area-group
Feature: Publishing to a URL group

  Rule: a publish to a URL group triggers every endpoint of the group

    @REQ-PUB-002 @stated
    Scenario: Every endpoint receives the published body
      Given a URL group with the endpoints "alpha", "beta" and "gamma"
      When a message is published to the group
      Then the endpoints "alpha", "beta" and "gamma" each receive that body once

    @REQ-PUB-002 @stated
    Scenario: A failing endpoint does not silence its neighbours
      Given a URL group with the endpoints "alpha", "beta" and "gamma"
      And the endpoint "beta" always answers 500
      And the message is allowed 0 retries by a header
      When a message is published to the group
      Then the endpoints "alpha", "beta" and "gamma" each receive that body once

    @REQ-PUB-002 @stated @negative
    Scenario: Endpoints of another group receive nothing
      Given a URL group with the endpoints "alpha" and "beta"
      And another URL group with the endpoint "gamma"
      When a message is published to the group
      Then the endpoints "alpha" and "beta" each receive that body once
      And the endpoint "gamma" receives nothing

  Rule: an update sets default headers for every request to the group

    @REQ-GRP-001 @REQ-GRP-002 @stated
    Scenario: A default header that is given as a string reaches every endpoint
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default header "X-Team" as the string "blue"
      When a message is published to the group
      Then the endpoints "alpha" and "beta" each receive the header "X-Team" with the value "blue"

    @REQ-GRP-001 @REQ-GRP-002 @stated
    Scenario: A default header that is given as an array reaches every endpoint
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default header "X-Team" as an array of "green" and "gold"
      When a message is published to the group
      Then the endpoints "alpha" and "beta" each receive the header "X-Team" with the values "green" and "gold"

    @REQ-GRP-002 @stated
    Scenario: A default header is on every request to the group, not on the first alone
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default header "X-Team" as the string "red"
      When two messages are published to the group one after the other
      Then the endpoints "alpha" and "beta" each receive the header "X-Team" with the value "red" twice

    @REQ-GRP-002 @implied @negative
    Scenario: A default header of a group is not on requests to a URL
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default header "X-Team" as the string "violet"
      And a destination
      When the message is published
      Then the value "violet" does not reach the destination in a header

  Rule: default headers may carry configuration

    @REQ-GRP-003 @stated
    Scenario: Retries that are a default header of the group hold for its endpoints
      Given a URL group with the endpoints "alpha" and "beta"
      And the endpoint "alpha" always answers 503
      And the group is updated with the default configuration of 0 retries
      When a message is published to the group
      Then the endpoint "alpha" is tried exactly once
      And the endpoint "beta" is tried exactly once

    @REQ-GRP-003 @stated
    Scenario: Header forwarding that is a default header of the group holds for its endpoints
      Given a URL group with the endpoints "alpha" and "beta"
      And the group is updated with the default configuration of header forwarding
      And the request carries the header "X-Order" with the value "order-91"
      When a message is published to the group
      Then the endpoints "alpha" and "beta" each receive the header "X-Order" with the value "order-91"
