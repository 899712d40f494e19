@area-publish
Feature: Receiving a webhook for somebody else

  Rule: a third-party webhook is forwarded to the real endpoint with the configured properties

    @REQ-PUB-012 @stated
    Scenario Outline: A call of <sender> that knows nothing but a URL arrives
      Given a destination
      And a message with:
        | query parameter Svc-Header-Forward | true |
      When <sender> calls the publish address
      Then the delivery holds:
        | body | {body} |
      And the headers of the sender arrive

      Examples: senders of well-known shapes
        | sender                |
        | a code host           |
        | a payment provider    |
        | a shop                |
        | a form service        |
        | a mail service        |
        | a telephony provider  |

    @REQ-PUB-012 @REQ-PUB-005 @stated
    Scenario: The properties in the query of the address hold for the call
      Given a destination that always answers 503
      And a message with:
        | query parameter Svc-Retries | 0 |
      When a payment provider calls the publish address
      Then exactly 1 attempt is made
