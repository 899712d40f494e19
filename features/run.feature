@area-run
Feature: Running workflows

  Rule: triggering a workflow starts a run and creates a message for its first step

    @REQ-LOG-007 @stated
    Scenario: A trigger writes CREATED for the first step and RUN_STARTED
      Given a workflow with:
        | work | Run fails with 503 |
      When the workflow is triggered
      Then the run is recorded as "RUN_STARTED"
      And a message of the run is recorded as "CREATED"

    @REQ-LOG-007 @stated
    Scenario: RUN_STARTED is written while the run is in progress
      Given a workflow with:
        | work | Wait |
      When the workflow is triggered
      Then the run is recorded as "WAITER_ADDED"
      And the run is recorded as "RUN_STARTED"
      And the log holds exactly 0 events of an ended run

    @REQ-LOG-008 @stated @negative
    Scenario: A run in progress is not recorded as RUN_SUCCESS
      Given a workflow with:
        | work | Wait |
      When the workflow is triggered
      Then the run is recorded as "WAITER_ADDED"
      And the log holds exactly 0 events "RUN_SUCCESS"

    @REQ-LOG-008 @stated @negative
    Scenario: A run that fails is not recorded as RUN_SUCCESS
      Given a workflow with:
        | work | Run fails with 503 |
      When the workflow is triggered and fails
      Then the log holds exactly 0 events "RUN_SUCCESS"

    @REQ-LOG-016 @implied
    Scenario: A run has one start and one end
      Given a workflow with:
        | reserve | Run |
        | charge  | Run |
      When the workflow is triggered and succeeds
      Then the log holds exactly 1 event "RUN_STARTED"
      And the log holds exactly 1 event of an ended run

    @REQ-LOG-008 @stated
    Scenario: A run that succeeds writes DELIVERED and RUN_SUCCESS
      Given a workflow with:
        | reserve | Run |
        | charge  | Run |
      When the workflow is triggered
      Then the run succeeds
      And a message of the run is recorded as "DELIVERED"

    @REQ-LOG-025 @stated
    Scenario: The response of the workflow is recorded when it succeeds, and only then
      Given a workflow with:
        | reserve | Run |
      When the workflow is triggered and succeeds
      Then every event of the run where "state" is "RUN_SUCCESS" holds:
        | {log.response} | {response} |
      And every event of the run where "state" is not "RUN_SUCCESS" holds:
        | {log.response} | nothing |

    @REQ-LOG-025 @REQ-LOG-008 @implied
    Scenario Outline: The response <value> of a workflow is recorded as it is
      Given a workflow with:
        | reserve | Run |
      And a run with:
        | result | <value> |
      When the workflow is triggered and succeeds
      Then every event of the run where "state" is "RUN_SUCCESS" holds:
        | {log.response} | {response} |
      And every event of the run where "state" is not "RUN_SUCCESS" holds:
        | {log.response} | nothing |

      Examples: values that look like none
        | value |
        | 0     |
        | false |
        | ""    |
        | null  |
        | of 20000 characters |

  Rule: a run whose errors outlast its retries fails

    @REQ-LOG-009 @stated @time-retries
    Scenario: A run fails only after all its retries
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      When the workflow is triggered
      Then the run fails
      And its step was tried exactly 2 times before the run failed

    @REQ-LOG-009 @stated @time-retries @negative
    Scenario: A run whose retry succeeds does not fail
      Given a workflow with:
        | work | Run fails once with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      When the workflow is triggered
      Then the run succeeds
      And the log holds exactly 0 events "RUN_FAILED"

    @REQ-LOG-010 @stated
    Scenario: A message that fails writes ERROR
      Given a workflow with:
        | work | Run fails with 503 |
      When the workflow is triggered and fails
      Then a message of the run is recorded as "ERROR"

    @REQ-LOG-010 @stated
    Scenario: A message that is answered 404 writes ERROR
      Given a workflow with:
        | work | Run fails with 404 |
      When the workflow is triggered and fails
      Then a message of the run is recorded as "ERROR"

    @REQ-LOG-010 @stated @negative
    Scenario: A run without a fault writes no ERROR
      Given a workflow with:
        | reserve | Run |
      When the workflow is triggered and succeeds
      Then the log holds exactly 0 events "ERROR"

    @REQ-LOG-025 @stated @negative
    Scenario: The response of the workflow is set on RUN_SUCCESS alone
      Given a workflow with:
        | reserve | Run |
      When the workflow is triggered and succeeds
      Then every event of the run where "state" is not "RUN_SUCCESS" holds:
        | {log.response} | unset |

    @REQ-LOG-026 @stated
    Scenario: Error text and response are on ERROR events and on no others
      Given a workflow with:
        | work | Run fails with 503 |
      When the workflow is triggered and fails
      Then every event of the run where "state" is "ERROR" holds:
        | {log.error}            | some text |
        | {log.response_status?} | not unset |
      And every event of the run where "state" is not "ERROR" holds:
        | {log.error?}            | unset |
        | {log.response_status?}  | unset |
        | {log.response_body?}    | unset |
        | {log.response_headers?} | unset |
        | {log.headers?}          | unset |

    @REQ-LOG-026 @stated
    Scenario: The response of an ERROR event is that of the workflow server
      Given a workflow with:
        | work | Run fails with 503 |
      When the workflow is triggered and fails
      Then every event of the run where "state" is "ERROR" holds:
        | {log.response_status}   | 503                             |
        | {log.response_body}     | out of order                    |
        | {log.response_headers?} | holds X-Fault: permanent, total |
        | {log.headers?}          | a header map                    |

  Rule: a run ends when its user cancels it

    @REQ-LOG-021 @stated
    Scenario: A run that is cancelled writes RUN_CANCELED
      Given a workflow with:
        | work | SleepFor |
      And the workflow is triggered and in progress
      When the run is cancelled
      Then the run is recorded as "RUN_CANCELED"
      And the log holds exactly 1 event of an ended run

    @REQ-LOG-021 @implied @negative
    Scenario: A run that is cancelled does no further step
      Given a workflow with:
        | work   | SleepFor |
        | charge | Run      |
      And the workflow is triggered and in progress
      When the run is cancelled
      Then the run is recorded as "RUN_CANCELED"
      And the step "charge" is never executed

    @REQ-LOG-021 @implied @negative
    Scenario: A run that is cancelled leaves another run of its workflow
      Given a workflow with:
        | work | SleepFor |
      And the workflow is triggered and in progress
      And the workflow is triggered again and in progress
      When the run is cancelled
      Then the run is recorded as "RUN_CANCELED"
      And the log of the other run holds exactly 0 events of an ended run

  Rule: a waiter and an invoked run are recorded

    @REQ-LOG-019 @stated
    Scenario: A step that waits for an event writes WAITER_ADDED
      Given a workflow with:
        | work | Wait |
      When the workflow is triggered
      Then the run is recorded as "WAITER_ADDED"
      And the log holds exactly 0 events of an ended run

    @REQ-LOG-020 @stated
    Scenario: A step that starts another run writes INVOKED
      Given a workflow with:
        | work | Invoke |
      When the workflow is triggered and succeeds
      Then the run is recorded as "INVOKED"

    @REQ-LOG-019 @stated @negative
    Scenario: A run that waits for nothing writes no WAITER_ADDED
      Given a workflow with:
        | reserve | Run |
      When the workflow is triggered and succeeds
      Then the log holds exactly 0 events "WAITER_ADDED"

    @REQ-LOG-020 @stated @negative
    Scenario: A run that starts no other writes no INVOKED
      Given a workflow with:
        | reserve | Run |
      When the workflow is triggered and succeeds
      Then the log holds exactly 0 events "INVOKED"

    @REQ-LOG-021 @stated @negative
    Scenario: A run that nobody cancels writes no RUN_CANCELED
      Given a workflow with:
        | reserve | Run |
      When the workflow is triggered and succeeds
      Then the log holds exactly 0 events "RUN_CANCELED"

    @REQ-LOG-027 @stated
    Scenario: The start of an invoked run names its invoker, and other starts do not
      Given a workflow with:
        | rest | SleepFor for 1s |
        | work | Invoke          |
      When the workflow is triggered and succeeds
      Then some event of the invoked run where "state" is "RUN_STARTED" holds:
        | {log.invoker_run_id}      | {run}                 |
        | {log.invoker_url?}        | {workflow}            |
        | {log.invoker_created_at?} | {creation of the run} |
      And every event of the invoked run where "state" is not "RUN_STARTED" holds:
        | {log.invoker_run_id}      | unset |
        | {log.invoker_url?}        | unset |
        | {log.invoker_created_at?} | unset |
      And every event of the run holds:
        | {log.invoker_run_id}      | unset |
        | {log.invoker_url?}        | unset |
        | {log.invoker_created_at?} | unset |

  Rule: every step has the execution type of its function

    @REQ-LOG-013 @stated
    Scenario Outline: A step of the type <type> is recorded with it
      Given a workflow with:
        | work | <step> |
      When the workflow is triggered
      Then some event of the run holds:
        | stepInfo/stepType | <type> |
      And every answer has the form of the document

      Examples: all functions
        | type       | step        |
        | Run        | Run         |
        | Call       | Call        |
        | SleepFor   | SleepFor    |
        | SleepUntil | SleepUntil  |
        | Wait       | Wait for 2s |
        | Notify     | Notify      |
        | Invoke     | Invoke      |

    @REQ-LOG-014 @stated
    Scenario: The first step is the automatic one of the type Initial
      Given a workflow with:
        | reserve | Run |
      When the workflow is triggered and succeeds
      Then some event of the run where "state" is "CREATED" holds:
        | stepInfo/stepType | Initial |

    @REQ-LOG-015 @stated
    Scenario: The name of a step may hold capitals and spaces
      Given a workflow with:
        | Reserve the seat | Run |
        | Charge 1/2 of it | Run |
      When the workflow is triggered and succeeds
      Then some event of the run holds:
        | stepInfo/stepName | Reserve the seat |
      And some event of the run holds:
        | stepInfo/stepName | Charge 1/2 of it |

    @REQ-LOG-015 @stated
    Scenario: A step has the name that the user gave it
      Given a workflow with:
        | reserve | Run |
        | charge  | Run |
      When the workflow is triggered and succeeds
      Then some event of the run holds:
        | stepInfo/stepName | reserve |
      And some event of the run holds:
        | stepInfo/stepName | charge |

    @REQ-LOG-018 @stated
    Scenario: Step ids increase
      Given a workflow with:
        | reserve | Run |
        | charge  | Run |
      When the workflow is triggered and succeeds
      Then the ids of the recorded steps increase

    @REQ-LOG-018 @stated
    Scenario: The ids of steps that run side by side increase
      Given a workflow with:
        | prepare | Run                   |
        | reserve | Run beside the others |
        | charge  | Run beside the others |
        | ship    | Run beside the others |
      When the workflow is triggered and succeeds
      Then the ids of the recorded steps increase

    @REQ-LOG-028 @stated
    Scenario: Steps that run side by side say how many they are
      Given a workflow with:
        | prepare | Run                   |
        | reserve | Run beside the others |
        | charge  | Run beside the others |
        | ship    | Run beside the others |
      When the workflow is triggered and succeeds
      Then every event of the run where "stepInfo/stepName" is "reserve" holds:
        | stepInfo/concurrent | between 2 and 3 |
      And every event of the run where "stepInfo/stepName" is "prepare" holds:
        | stepInfo/concurrent | between 0 and 1 |

    @REQ-LOG-029 @stated
    Scenario Outline: A step of the type <type> carries its <value>
      Given a workflow with:
        | work | <step> |
      When the workflow is triggered
      Then some event of the run where "stepInfo/stepType" is "<type>" holds:
        | stepInfo/{step.<place>} | <fits> |

      Examples: the described values
        | type       | step        | value                       | place                 | fits                                                                      |
        | Run        | Run         | output                      | out                   | contains result of work                                                   |
        | SleepFor   | SleepFor    | sleep duration in ms        | sleep_for             | 60000                                                                     |
        | SleepUntil | SleepUntil  | sleep end in Unix ms        | sleep_until           | between {trigger+60s} and {settled trigger+60s}                           |
        | Call       | Call        | external URL                | call_url              | {third party}                                                             |
        | Call       | Call        | method of the call          | call_method           | POST                                                                      |
        | Call       | Call        | response status             | call_response_status  | 202                                                                       |
        | Call       | Call        | request headers             | call_headers          | contains outgoing                                                         |
        | Call       | Call        | request body                | call_body             | {"call":1}                                                                |
        | Call       | Call        | response headers            | call_response_headers | contains yes                                                              |
        | Call       | Call        | response body               | call_response_body    | called                                                                    |
        | Wait       | Wait for 2s | event id                    | wait_event_id         | {event}                                                                   |
        | Wait       | Wait for 2s | timeout as text             | wait_duration         | lasts {timeout}                                                           |
        | Wait       | Wait for 2s | timeout in Unix ms          | wait_deadline         | between {item at workflowCreatedAt+-1s+timeout} and {settled trigger+timeout} |
        | Invoke     | Invoke      | invoked run                 | invoked_run_id        | {run}_invoked                                                             |
        | Invoke     | Invoke      | URL of the invoked workflow | invoked_url           | {invoked workflow}                                                        |
        | Invoke     | Invoke      | start of the invoked run    | invoked_created_at    | between {item at workflowCreatedAt+-1s} and {settled trigger}                 |
        | Invoke     | Invoke      | payload of the invoked run  | invoked_body          | {"invoked":true}                                                          |
        | Invoke     | Invoke      | headers of the invoked run  | invoked_headers       | contains :                                                                |

    @REQ-LOG-029 @stated
    Scenario Outline: A wait for at most <timeout> is recorded with the text and the time of its timeout
      Given a workflow with:
        | work | Wait for <timeout> |
      When the workflow is triggered and its event is notified
      Then some event of the run where "stepInfo/stepType" is "Wait" holds:
        | stepInfo/{step.wait_duration} | lasts {timeout}                                                          |
        | stepInfo/{step.wait_deadline} | between {item at workflowCreatedAt+-1s+timeout} and {settled trigger+timeout} |

      Examples: the documented forms
        | timeout |
        | 120s    |
        | 1m      |
        | 1h      |

    @REQ-LOG-030 @stated
    Scenario: A wait that times out says so
      Given a workflow with:
        | work | Wait |
      When the workflow is triggered and its wait times out
      Then some event of the run where "stepInfo/stepType" is "Wait" holds:
        | stepInfo/{step.wait_timeout} | true |

    @REQ-LOG-030 @stated @negative
    Scenario: A wait that is notified does not say that it timed out
      Given a workflow with:
        | work | Wait |
      When the workflow is triggered and its event is notified
      Then some event of the run where "stepInfo/stepType" is "Wait" holds:
        | stepInfo/{step.wait_timeout} | not true |
