@area-auth
Feature: Signing in

  Rule: an operation is refused without its credentials

    @REQ-AUT-001 @implied @negative
    Scenario Outline: <operation> without credentials is refused
      Given the operation "<operation>" is accepted with its credentials
      When the same request is sent without credentials
      Then the request is refused

      Examples: the operations that can be asked without consequences
        | operation               |
        | publishMessage          |
        | listWorkflowDLQ         |
        | listWorkflowMessageLogs |
        | updateURLGroup          |
        | getUsageStatistics      |
        | getVectorInfo           |

    @REQ-AUT-001 @implied @negative
    Scenario: A publish without credentials delivers nothing
      Given a destination
      When a message is published without credentials
      Then the request is refused
      And nothing arrives at the destination

  Rule: an operation is refused with wrong credentials

    @REQ-AUT-002 @implied @negative
    Scenario Outline: <operation> with <what> is refused
      Given the operation "<operation>" is accepted with its credentials
      When the same request is sent with <what>
      Then the request is refused

      Examples: credentials with one fault
        | operation               | what             |
        | publishMessage          | a wrong token    |
        | listWorkflowDLQ         | a wrong token    |
        | listWorkflowMessageLogs | a wrong token    |
        | updateURLGroup          | a wrong token    |
        | getVectorInfo           | a wrong token    |
        | getUsageStatistics      | a wrong password |
        | getUsageStatistics      | a wrong username |

    @REQ-AUT-002 @implied @negative
    Scenario: A publish with a wrong token in the query delivers nothing
      Given a destination
      When a message is published with a wrong token in the query
      Then the request is refused
      And nothing arrives at the destination

  Rule: each area takes its own scheme

    @REQ-AUT-004 @stated
    Scenario Outline: <operation> takes <scheme>
      When the operation "<operation>" is requested with its credentials
      Then the request is accepted

      Examples: the table of schemes
        | operation               | scheme            |
        | publishMessage          | a Bearer token    |
        | listWorkflowDLQ         | a Bearer token    |
        | listWorkflowMessageLogs | a Bearer token    |
        | updateURLGroup          | a Bearer token    |
        | getVectorInfo           | a Bearer token    |
        | getUsageStatistics      | HTTP Basic        |

    @REQ-AUT-003 @stated @needs-driver-account
    Scenario: A password may hold a colon
      Given an account whose password holds a colon
      When the operation "getUsageStatistics" is requested with its credentials
      Then the request is accepted

    @REQ-AUT-003 @stated @negative @needs-driver-account
    Scenario: A password that is cut at its colon is refused
      Given an account whose password holds a colon
      When the operation "getUsageStatistics" is requested with the password cut at its colon
      Then the request is refused
