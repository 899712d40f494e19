@area-auth
Feature: Signing in

  Rule: an operation is refused without its credentials

    @REQ-AUT-001 @stated @negative
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

    @REQ-AUT-001 @stated @negative
    Scenario: A publish without credentials delivers nothing
      Given a destination
      When a message is published without credentials
      Then the request is refused
      And nothing arrives at the destination

    @REQ-AUT-001 @stated @negative
    Scenario: A restart without credentials starts nothing
      Given a dead-lettered run
      When its entry is restarted without credentials
      Then the request is refused
      And no new run is started

    @REQ-AUT-001 @stated @negative
    Scenario: A resume without credentials frees nothing
      Given a paused flow-control key that holds 1 message
      When the key is resumed without credentials
      Then the request is refused
      And nothing arrives at the destination

    @REQ-AUT-001 @stated @negative
    Scenario: The deletion of a search index without credentials deletes nothing
      Given a search index
      When the search index is deleted without credentials
      Then the request is refused
      And the search index can still be found

  Rule: an operation is refused with wrong credentials

    @REQ-AUT-002 @stated @negative
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
        | publishMessage          | the right token and more |
        | listWorkflowDLQ         | the right token and more |
        | getVectorInfo           | the right token and more |
        | publishMessage          | most of the right token |
        | listWorkflowMessageLogs | most of the right token |
        | getUsageStatistics      | the right password and more |

    @REQ-AUT-002 @stated @negative
    Scenario: A publish with a wrong token in the query delivers nothing
      Given a destination
      When a message is published with a wrong token in the query
      Then the request is refused
      And nothing arrives at the destination

    @REQ-AUT-002 @implied @negative
    Scenario: The right token in another case is refused
      Given the operation "listWorkflowDLQ" is accepted with its credentials
      When the same request is sent with the right token in another case
      Then the request is refused

    @REQ-AUT-002 @stated @negative
    Scenario: A restart with a wrong token starts nothing
      Given a dead-lettered run
      When its entry is restarted with wrong credentials
      Then the request is refused
      And no new run is started

    @REQ-AUT-002 @stated @negative
    Scenario: A resume with a wrong token frees nothing
      Given a paused flow-control key that holds 1 message
      When the key is resumed with wrong credentials
      Then the request is refused
      And nothing arrives at the destination

    @REQ-AUT-002 @stated @negative
    Scenario: The deletion of a search index with a wrong password deletes nothing
      Given a search index
      When the search index is deleted with wrong credentials
      Then the request is refused
      And the search index can still be found

  Rule: the credentials of one account hold for that account

    @REQ-AUT-005 @implied @leak @negative @needs-driver-account
    Scenario: A restart with the credentials of another account starts nothing
      Given a dead-lettered run
      When its entry is restarted with the credentials of another account
      Then the request is refused
      And no new run is started

    @REQ-AUT-005 @implied @leak @negative @needs-driver-account
    Scenario: A resume with the credentials of another account frees nothing
      Given a paused flow-control key that holds 1 message
      When the key is resumed with the credentials of another account
      Then nothing arrives at the destination

    @REQ-AUT-005 @implied @leak @negative @needs-driver-account
    Scenario: The deletion of a search index with the credentials of another account deletes nothing
      Given a search index
      When the search index is deleted with the credentials of another account
      Then the search index can still be found

    @REQ-AUT-005 @implied @leak @negative @needs-driver-account
    Scenario Outline: Nothing of the run is shown to another account when the <what>
      Given a dead-lettered run
      When the <what> with the credentials of another account
      Then the answer does not name the run

      Examples: both lists
        | what                                    |
        | dead letter queue is read               |
        | dead letter queue is filtered by run id |
        | message logs are read                   |
        | message logs are filtered by run id     |

    @REQ-AUT-005 @implied @leak @negative @needs-driver-account
    Scenario: The statistics of another account are not shown
      Given the operation "getUsageStatistics" is accepted with its credentials
      When the same request is sent with the credentials of another account
      Then the request is refused

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

    @REQ-AUT-004 @stated
    Scenario: A restart takes a Bearer token
      Given a dead-lettered run
      When its entry is restarted
      Then the request is accepted

    @REQ-AUT-004 @stated
    Scenario: A resume takes a Bearer token
      Given a paused flow-control key that holds 1 message
      When the key is resumed
      Then all held messages arrive

    @REQ-AUT-004 @stated
    Scenario: The deletion of a search index takes HTTP Basic
      Given a search index
      When the search index is deleted
      Then the request is accepted

    @REQ-AUT-003 @stated @needs-driver-account
    Scenario Outline: The base64 of the credentials may hold <what>
      Given an account whose base64 holds <what>
      When the operation "getUsageStatistics" is requested with its credentials
      Then the request is accepted

      Examples: what careless decoders refuse
        | what                 |
        | a plus and a slash   |
        | padding              |

    @REQ-AUT-003 @stated @needs-driver-account
    Scenario: A password may hold a colon
      Given an account whose password holds a colon
      When the operation "getUsageStatistics" is requested with its credentials
      Then the request is accepted

    @REQ-AUT-003 @stated @negative @needs-driver-account
    Scenario: A password that is cut at its colon is refused
      Given an account whose password holds a colon
      And the operation "getUsageStatistics" is accepted with its credentials
      When the same request is sent with the password cut at its colon
      Then the request is refused
