@area-dlq
Feature: The dead letter queue of workflow runs

  Rule: a run that fails is moved to the queue by itself

    @REQ-DLQ-005 @REQ-LOG-009 @stated @time-retries
    Scenario: A run is dead-lettered only after its retries are spent
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      When the workflow is triggered
      Then the entry holds:
        | workflowRunId | {run} |
      And its step was tried exactly 2 times

    @REQ-DLQ-015 @implied @negative
    Scenario: A run that succeeds is never in the queue
      Given a workflow with:
        | reserve | Run |
      When the workflow is triggered and succeeds
      Then the run has exactly 0 entries in the dead letter queue

    @REQ-DLQ-016 @implied
    Scenario: One failed run has one entry
      Given a workflow with:
        | work | Run fails with 503 |
      When the workflow is triggered and fails
      Then the run has exactly 1 entry in the dead letter queue

    @REQ-DLQ-015 @implied @negative
    Scenario: A run that is cancelled is not in the queue
      Given a workflow with:
        | work | SleepFor |
      And the workflow is triggered and in progress
      When the run is cancelled
      Then the run is recorded as "RUN_CANCELED"
      And the run has exactly 0 entries in the dead letter queue

    @REQ-DLQ-015 @implied @negative @time-retries
    Scenario: A run that a retry saved is not in the queue
      Given a workflow with:
        | work | Run fails once with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      When the workflow is triggered and succeeds
      Then the run has exactly 0 entries in the dead letter queue

    @REQ-DLQ-016 @implied @time-retries
    Scenario: A failed run has one entry however often it was tried
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      When the workflow is triggered and fails
      Then the run has exactly 1 entry in the dead letter queue

    @REQ-DLQ-005 @stated
    Scenario Outline: A run that fails with status <status> is in the queue
      Given a workflow with:
        | work | Run fails with <status> |
      When the workflow is triggered
      Then the entry holds:
        | workflowRunId | {run} |
      And its step was tried exactly 1 time

      Examples: classes of failure
        | status |
        | 400    |
        | 404    |
        | 500    |

  Rule: the list is an object with messages and a cursor

    @REQ-DLQ-001 @stated @shape
    Scenario: The queue is an array of messages
      When the dead letter queue is read
      Then every answer has the form of the document

    @REQ-DLQ-004 @REQ-DLQ-006 @stated @shape
    Scenario: An entry without a failure callback has all other fields
      Given a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | responseStatus | an integer   |
        | responseBody   | some text    |
        | responseHeader | a header map |
      And every answer has the form of the document

    @REQ-DLQ-001 @stated @shape
    Scenario: A list without entries is an empty array
      Given a dead-lettered run
      When the dead letter queue is filtered by an unknown run id
      Then the list is empty, or the request is refused
      And every answer has the form of the document

    @REQ-DLQ-007 @stated
    Scenario Outline: The time <field> is in Unix ms
      Given a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | <field> | between {trigger} and {now} |

      Examples: all times
        | field             |
        | createdAt         |
        | workflowCreatedAt |
        | notBefore         |

  Rule: an entry shows the run and its configuration

    @REQ-DLQ-014 @stated
    Scenario Outline: The entry reflects the <what> of the run
      Given a dead-lettered run with a failure callback
      When the dead letter queue is read
      Then the entry holds:
        | <place> | <value> |

      Examples: the configuration
        | what              | place            | value         |
        | address           | url, workflowUrl | {workflow}    |
        | method            | method           | {method}      |
        | retries           | maxRetries       | {retries}     |
        | forwarded headers | header           | holds order-7 |
        | id                | workflowRunId    | {run}         |
        | failure callback  | failureCallback  | {callback}    |

    @REQ-DLQ-014 @stated
    Scenario: The entry reflects the method that the run was called by
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header {method?} | PUT |
      And a dead-lettered run of it
      When the dead letter queue is read
      Then the entry holds:
        | method | {method} |

    @REQ-DLQ-014 @stated @time-retries
    Scenario: The entry reflects the number of retries
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      And a dead-lettered run of it
      When the dead letter queue is read
      Then the entry holds:
        | maxRetries | {retries} |

    @REQ-DLQ-014 @stated
    Scenario: The header of the entry includes the configuration
      Given a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | header | holds Svc-Retries: {retries} |

    @REQ-DLQ-007 @REQ-DLQ-013 @REQ-DLQ-004 @stated
    Scenario: An entry is the same at every reading
      Given a dead-lettered run
      When the dead letter queue is read again a little later
      Then the entry has the same id and the same times

    @REQ-DLQ-010 @stated @time-retries
    Scenario: A lower status after a higher one is that of the last attempt
      Given a workflow with:
        | work | Run fails with 503, then with 500 |
      And a run with:
        | header Svc-Retries | 1 |
      When the workflow is triggered and fails
      Then the entry holds:
        | responseStatus | 500 |

    @REQ-DLQ-010 @stated @time-retries
    Scenario Outline: The <what> of the entry is that of the last failed attempt
      Given a workflow with:
        | work | Run fails with 500, then with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      When the workflow is triggered and fails
      Then the entry holds:
        | <place> | <value> |

      Examples: the response
        | what    | place          | value              |
        | status  | responseStatus | 503                |
        | headers | responseHeader | holds X-Attempt: 2 |
        | body    | responseBody   | attempt 2          |

    @REQ-DLQ-017 @stated
    Scenario Outline: The entry carries the <what> of the run
      Given a dead-lettered run with a failure callback
      When the dead letter queue is read
      Then the entry holds:
        | <place>            | <value> |
        | {dlq.body_base64?} | nothing |

      Examples: the described values
        | what    | place       | value     |
        | payload | {dlq.body}  | {payload} |
        | label   | {dlq.label} | {label}   |

    @REQ-DLQ-017 @stated
    Scenario: The entry carries the flow-control key of the run
      Given a run with:
        | header {flow_key}   | {an id}       |
        | header {flow_value} | parallelism=5 |
      And a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | {dlq.flow_key} | {flow key} |

    @REQ-DLQ-017 @stated @negative
    Scenario: Without a flow-control key the entry carries none
      Given a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | {dlq.flow_key} | nothing |

    @REQ-DLQ-017 @implied @negative
    Scenario: Without a label the entry carries none
      Given a run with:
        | label | none |
      And a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | {dlq.label} | nothing |

    @REQ-DLQ-017 @stated
    Scenario: A payload that is not UTF-8 is carried in base64
      Given a run with:
        | payload | not UTF-8 |
      And a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | {dlq.body_base64} | base64 of {payload} |
        | {dlq.body?}       | nothing             |

    @REQ-DLQ-018 @stated
    Scenario: A response that is not UTF-8 is carried in base64
      Given a workflow with:
        | work | Run fails with 503 and a body that is not UTF-8 |
      When the workflow is triggered and fails
      Then the entry holds:
        | {dlq.response_body_base64} | //4AgA== |
        | responseBody               | absent   |

    @REQ-DLQ-011 @stated @negative
    Scenario: Without a failure callback the entry names none
      Given a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | failureCallback | absent |

    @REQ-DLQ-011 @stated
    Scenario: With a failure callback the entry names it
      Given a dead-lettered run with a failure callback
      When the dead letter queue is read
      Then the entry holds:
        | failureCallback | {callback} |

    @REQ-DLQ-012 @implied @negative
    Scenario Outline: A failure callback that is answered <status> is not a success
      Given the endpoint "failure callback" always answers <status> with a body
      And a dead-lettered run with a failure callback
      When the failure callback has been answered
      Then the entry holds:
        | failureCallbackInfo/state          | not CALLBACK_SUCCESS   |
        | failureCallbackInfo/responseStatus | unset or 0 or <status> |
        | failureCallbackInfo/responseBody   | nothing or made        |

      Examples: both kinds of failure
        | status |
        | 404    |
        | 500    |

    @REQ-DLQ-012 @REQ-DLQ-019 @stated
    Scenario: The outcome of the failure callback is stored in the entry
      Given a dead-lettered run with a failure callback
      When the failure callback has been answered
      Then the entry holds the outcome of the failure callback
      And every answer has the form of the document

    @REQ-DLQ-013 @stated
    Scenario: Every entry has an id of its own
      Given 3 dead-lettered runs
      When the dead letter queue is read
      Then the ids of the entries differ

    @REQ-DLQ-012 @implied @negative
    Scenario: Without a failure callback the entry has no outcome of one
      Given a dead-lettered run
      When the dead letter queue is read
      Then the entry holds:
        | failureCallbackInfo | absent |

    @REQ-PUB-006 @REQ-PUB-011 @implied @time-retries
    Scenario Outline: Every call of a run that is <way> has its headers and its payload
      Given a dead-lettered run that is configured in every way and <way>
      When the dead letter queue is read
      Then every call of the workflow holds:
        | header/X-Order | order-7            |
        | header/X-Empty | ""                 |
        | header/X-Part  | order-42, order-43 |
        | payload        | {payload}          |

      Examples: ways of a run
        | way               |
        | tried three times |
        | delayed           |
        | restarted once    |
        | restarted twice   |

      @cap-flow-resume
      Examples: a key
        | way           |
        | held by a key |

    @REQ-DLQ-005 @REQ-DLQ-014 @REQ-DLQ-004 @REQ-DLQ-010 @REQ-DLQ-017 @stated @time-retries
    Scenario Outline: The entry of a run that is <way> shows all of it
      Given a dead-lettered run that is configured in every way and <way>
      When the dead letter queue is read
      Then every answer has the form of the document
      And the entry holds:
        | url, workflowUrl   | {workflow}                      |
        | method             | {method}                        |
        | maxRetries         | {retries}                       |
        | workflowRunId      | {run}                           |
        | failureCallback    | {callback?}                     |
        | header             | holds order-7                   |
        | header             | holds order-42, order-43        |
        | header             | holds {label?}                  |
        | header             | holds {flow key?}               |
        | {dlq.body?}        | {payload}                       |
        | {dlq.body_base64?} | nothing                         |
        | {dlq.label?}       | {label?}                        |
        | {dlq.flow_key?}    | {flow key?}                     |
        | responseStatus     | 503                             |
        | responseBody       | out of order                    |
        | responseHeader     | holds X-Fault: permanent, total |
        | callerIP           | an IP address                   |

      Examples: ways of a run
        | way               |
        | tried three times |
        | delayed           |
        | restarted once    |
        | restarted twice   |

      @cap-flow-resume
      Examples: a key
        | way           |
        | held by a key |

    @REQ-DLQ-012 @REQ-DLQ-011 @stated @time-retries
    Scenario Outline: The outcome of the failure callback is stored in the entry of a run that is <way>
      Given a dead-lettered run that is configured in every way and <way>
      When the dead letter queue is read
      Then the entry holds:
        | failureCallback | {callback} |
      And the entry holds the outcome of the failure callback

      Examples: ways of a run
        | way               |
        | tried three times |
        | delayed           |
        | restarted once    |
        | restarted twice   |

      @cap-flow-resume
      Examples: a key
        | way           |
        | held by a key |

    @REQ-DLQ-005 @stated
    Scenario: A run that another one invoked is in the queue when it fails
      Given a workflow with:
        | work | Invoke of a workflow that fails with 503 |
      When the workflow is triggered
      Then the entry of the invoked run holds:
        | workflowRunId | {run}_invoked |

    @REQ-AUT-006 @implied @leak @negative @time-retries
    Scenario Outline: The credential is in no call, callback, entry or event of a run that is <way>
      Given a dead-lettered run that is configured in every way and <way>
      When everything about the run is read
      Then the credential is in nothing that the target sent

      Examples: ways of a run
        | way               |
        | tried three times |
        | delayed           |
        | restarted once    |
        | restarted twice   |

      @cap-flow-resume
      Examples: a key
        | way           |
        | held by a key |

  Rule: pages hold at most 100 entries

    @REQ-DLQ-002 @stated @time-long @paging
    Scenario: A page holds 100 entries unless asked otherwise
      Given 101 dead-lettered runs
      When the dead letter queue is read without a page size
      Then the page holds exactly 100 entries and a cursor

    @REQ-DLQ-002 @stated @time-long @paging
    Scenario: A larger page of entries is not to be had
      Given 101 dead-lettered runs
      When the dead letter queue is read with a page size of 101
      Then the page holds at most 100 entries, or the request is refused

    @REQ-DLQ-002 @stated @paging
    Scenario: A page of entries is no larger than was asked for
      Given 3 dead-lettered runs
      When the dead letter queue is read 2 at a time
      Then every entry is seen exactly once
      And every answer has the form of the document

    @REQ-DLQ-003 @stated @paging
    Scenario Outline: Following the cursor in pages of <page> visits every entry once
      Given 5 dead-lettered runs
      When the dead letter queue is read <page> at a time
      Then every entry is seen exactly once
      And the last page has no cursor

      Examples: one by one, with a remainder, exactly the total, and beyond it
        | page |
        | 1    |
        | 2    |
        | 5    |
        | 50   |

    @REQ-DLQ-003 @stated @paging
    Scenario: Every page of the queue is filtered
      Given a dead-lettered run of another workflow
      And 5 dead-lettered runs
      And a dead-lettered run of another workflow
      When the dead letter queue is read 2 at a time
      Then the queue holds all entries that fit, and no other

    @REQ-DLQ-003 @implied @paging @race
    Scenario: An entry that is added while pages are read makes none vanish
      Given 5 dead-lettered runs
      When the dead letter queue is read 2 at a time while another run fails
      Then every entry is seen exactly once

  Rule: filters narrow the list of entries

    @REQ-DLQ-008 @stated
    Scenario Outline: The queue filtered by <filter> holds all that fits and nothing else
      Given two dead-lettered runs that differ in everything
      When the dead letter queue is filtered by <filter>
      Then the queue holds all entries that fit, and no other

      Examples: the documented filters
        | filter               |
        | run id               |
        | workflow url         |
        | response status      |
        | publisher            |
        | callback state       |
        | label                |

    @REQ-DLQ-008 @stated
    Scenario Outline: The queue filtered by <filter> holds every entry of several that fit
      Given 3 dead-lettered runs
      When the dead letter queue is filtered by <filter>
      Then the queue holds all entries that fit, and no other

      Examples: filters that several entries fit
        | filter          |
        | workflow url    |
        | response status |
        | publisher       |

    @REQ-DLQ-009 @stated
    Scenario Outline: The <end> date of the queue is inclusive
      Given two dead-lettered runs that differ in everything
      When the dead letter queue is filtered by the <end> dates around its entries
      Then the date is inclusive

      Examples: both ends
        | end   |
        | start |
        | end   |
