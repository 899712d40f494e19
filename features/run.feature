@area-run
Feature: Running workflows

  Rule: triggering a workflow starts a run and creates a message for its first step

    @REQ-LOG-007 @stated
    Scenario: A trigger writes CREATED for the first step and RUN_STARTED
      Given a workflow whose only step always fails with status 503
      When the workflow is triggered
      Then the run is recorded as "RUN_STARTED"
      And a message of the run is recorded as "CREATED"

    @REQ-LOG-007 @stated
    Scenario: RUN_STARTED is written while the run is in progress
      Given a workflow with a step of the type "Wait"
      When the workflow is triggered
      Then the run is recorded as "WAITER_ADDED"
      And the run is recorded as "RUN_STARTED"
      And the run has not ended

    @REQ-LOG-008 @stated @negative
    Scenario: A run in progress is not recorded as RUN_SUCCESS
      Given a workflow with a step of the type "Wait"
      When the workflow is triggered
      Then the run is recorded as "WAITER_ADDED"
      And the log holds exactly 0 events "RUN_SUCCESS"

    @REQ-LOG-008 @stated @negative
    Scenario: A run that fails is not recorded as RUN_SUCCESS
      Given a workflow whose only step always fails with status 503
      When the workflow is triggered and fails
      Then the log holds exactly 0 events "RUN_SUCCESS"

    @REQ-LOG-008 @stated
    Scenario: Every message of a run that succeeds is delivered
      Given a workflow with the steps "reserve" and "charge"
      When the workflow is triggered and succeeds
      Then every message of the run is delivered

    @REQ-LOG-016 @implied
    Scenario: A run has one start and one end
      Given a workflow with the steps "reserve" and "charge"
      When the workflow is triggered and succeeds
      Then the log holds exactly 1 event "RUN_STARTED"
      And the log holds exactly 1 event of an ended run

    @REQ-LOG-008 @stated
    Scenario: A run that succeeds writes DELIVERED and RUN_SUCCESS
      Given a workflow with the steps "reserve" and "charge"
      When the workflow is triggered
      Then the run succeeds
      And a message of the run is recorded as "DELIVERED"

    @REQ-LOG-008 @stated
    Scenario: A message is delivered after it was created
      Given a workflow with the steps "reserve" and "charge"
      When the workflow is triggered and succeeds
      Then each delivered message was created before

    @REQ-LOG-025 @stated
    Scenario: The response of the workflow is recorded when it succeeds, and only then
      Given a workflow with the step "reserve"
      When the workflow is triggered and succeeds
      Then only the event "RUN_SUCCESS" holds the response of the workflow

    @REQ-LOG-025 @REQ-LOG-008 @implied
    Scenario Outline: The response <value> of a workflow is recorded as it is
      Given a workflow with the step "reserve"
      And the workflow returns <value>
      When the workflow is triggered and succeeds
      Then only the event "RUN_SUCCESS" holds the response of the workflow

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
      Given a workflow whose only step always fails with status 503
      And the run is allowed 1 retry
      When the workflow is triggered
      Then the run fails
      And its step was tried exactly 2 times before the run failed

    @REQ-LOG-009 @stated @time-retries @negative
    Scenario: A run whose retry succeeds does not fail
      Given a workflow whose only step fails once with status 503
      And the run is allowed 1 retry
      When the workflow is triggered
      Then the run succeeds
      And the log holds exactly 0 events "RUN_FAILED"

    @REQ-LOG-010 @stated
    Scenario: A message that fails writes ERROR
      Given a workflow whose only step always fails with status 503
      When the workflow is triggered and fails
      Then a message of the run is recorded as "ERROR"

    @REQ-LOG-010 @stated
    Scenario: A message that is answered 404 writes ERROR
      Given a workflow whose only step always fails with status 404
      When the workflow is triggered and fails
      Then a message of the run is recorded as "ERROR"

    @REQ-LOG-010 @stated @negative
    Scenario: A run without a fault writes no ERROR
      Given a workflow with the step "reserve"
      When the workflow is triggered and succeeds
      Then the log holds exactly 0 events "ERROR"

    @REQ-LOG-025 @stated @negative
    Scenario: The response of the workflow is set on RUN_SUCCESS alone
      Given a workflow with the step "reserve"
      When the workflow is triggered and succeeds
      Then the response of the workflow is set on no other event, not even as an empty text

    @REQ-LOG-026 @stated
    Scenario: Error text and response are on ERROR events and on no others
      Given a workflow whose only step always fails with status 503
      When the workflow is triggered and fails
      Then the error details are on the events "ERROR" and on no others

    @REQ-LOG-026 @stated
    Scenario: The response of an ERROR event is that of the workflow server
      Given a workflow whose only step always fails with status 503
      When the workflow is triggered and fails
      Then the event "ERROR" holds the status 503 and the body of the workflow server

    @REQ-LOG-026 @stated @time-retries
    Scenario: Each ERROR event has the status of its own attempt
      Given a workflow whose only step fails with status 500 and then with status 503
      And the run is allowed 1 retry
      When the workflow is triggered and fails
      Then each event "ERROR" holds the status of its own attempt, 500 or 503

  Rule: a run ends when its user cancels it

    @REQ-LOG-021 @stated
    Scenario: A run that is cancelled writes RUN_CANCELED
      Given a workflow with a step of the type "SleepFor"
      And the workflow is triggered and in progress
      When the run is cancelled
      Then the run is recorded as "RUN_CANCELED"
      And the log holds exactly 1 event of an ended run

    @REQ-LOG-021 @implied @negative
    Scenario: A run that is cancelled does no further step
      Given a workflow with a step of the type "SleepFor" before the step "charge"
      And the workflow is triggered and in progress
      When the run is cancelled
      Then the run is recorded as "RUN_CANCELED"
      And the step "charge" is never executed

    @REQ-LOG-021 @implied @negative
    Scenario: A run that is cancelled leaves another run of its workflow
      Given a workflow with a step of the type "SleepFor"
      And the workflow is triggered and in progress
      And another run of the workflow is in progress
      When the run is cancelled
      Then the run is recorded as "RUN_CANCELED"
      And the other run has not ended

  Rule: a waiter and an invoked run are recorded

    @REQ-LOG-019 @stated
    Scenario: A step that waits for an event writes WAITER_ADDED
      Given a workflow with a step of the type "Wait"
      When the workflow is triggered
      Then the run is recorded as "WAITER_ADDED"
      And the run has not ended

    @REQ-LOG-020 @stated
    Scenario: A step that starts another run writes INVOKED
      Given a workflow with a step of the type "Invoke"
      When the workflow is triggered and succeeds
      Then the run is recorded as "INVOKED"

    @REQ-LOG-019 @stated @negative
    Scenario: A run that waits for nothing writes no WAITER_ADDED
      Given a workflow with the step "reserve"
      When the workflow is triggered and succeeds
      Then the log holds exactly 0 events "WAITER_ADDED"

    @REQ-LOG-020 @stated @negative
    Scenario: A run that starts no other writes no INVOKED
      Given a workflow with the step "reserve"
      When the workflow is triggered and succeeds
      Then the log holds exactly 0 events "INVOKED"

    @REQ-LOG-021 @stated @negative
    Scenario: A run that nobody cancels writes no RUN_CANCELED
      Given a workflow with the step "reserve"
      When the workflow is triggered and succeeds
      Then the log holds exactly 0 events "RUN_CANCELED"

    @REQ-LOG-027 @stated
    Scenario: The start of an invoked run names its invoker, and other starts do not
      Given a workflow that sleeps for a second before it invokes another
      When the workflow is triggered and succeeds
      Then the start of the invoked run names the invoker

  Rule: every step has the execution type of its function

    @REQ-LOG-013 @stated
    Scenario Outline: A step of the type <type> is recorded with it
      Given a workflow with a short step of the type "<type>"
      When the workflow is triggered
      Then a step of the type "<type>" is recorded
      And every recorded step type is one of the documented list

      Examples: all functions
        | type       |
        | Run        |
        | Call       |
        | SleepFor   |
        | SleepUntil |
        | Wait       |
        | Notify     |
        | Invoke     |

    @REQ-LOG-014 @stated
    Scenario: The first step is the automatic one of the type Initial
      Given a workflow with the step "reserve"
      When the workflow is triggered and succeeds
      Then the first message of the run has the step type "Initial"

    @REQ-LOG-014 @stated
    Scenario: Only the first message of a run has the type Initial
      Given a workflow with the steps "reserve" and "charge"
      When the workflow is triggered and succeeds
      Then one message of the run has the step type "Initial" in all its events, and no other has it

    @REQ-LOG-014 @stated
    Scenario: The first message of a run that fails has the type Initial
      Given a workflow whose only step always fails with status 503
      When the workflow is triggered and fails
      Then one message of the run has the step type "Initial" in all its events, and no other has it

    @REQ-LOG-015 @stated
    Scenario: The name of a step may hold capitals and spaces
      Given a workflow with the steps "Reserve the seat" and "Charge 1/2 of it"
      When the workflow is triggered and succeeds
      Then steps with the names "Reserve the seat" and "Charge 1/2 of it" are recorded

    @REQ-LOG-015 @stated
    Scenario: A step has the name that the user gave it
      Given a workflow with the steps "reserve" and "charge"
      When the workflow is triggered and succeeds
      Then steps with the names "reserve" and "charge" are recorded

    @REQ-LOG-018 @stated
    Scenario: Step ids increase
      Given a workflow with the steps "reserve" and "charge"
      When the workflow is triggered and succeeds
      Then the ids of the recorded steps increase

    @REQ-LOG-018 @stated
    Scenario: The ids of steps that run side by side increase
      Given a workflow whose steps "reserve", "charge" and "ship" run side by side after the step "prepare"
      When the workflow is triggered and succeeds
      Then the ids of the recorded steps increase

    @REQ-LOG-028 @stated
    Scenario: Steps that run side by side say how many they are
      Given a workflow whose steps "reserve", "charge" and "ship" run side by side after the step "prepare"
      When the workflow is triggered and succeeds
      Then each step is recorded with the number of steps beside it

    @REQ-LOG-029 @stated
    Scenario Outline: A step of the type <type> carries its <value>
      Given a workflow with a short step of the type "<type>"
      When the workflow is triggered
      Then a step of the type "<type>" is recorded
      And the step information of the type "<type>" holds its <value>

      Examples: the described values
        | type       | value                |
        | Run        | output               |
        | SleepFor   | sleep duration in ms |
        | SleepUntil | sleep end in Unix ms |
        | Call       | external URL         |
        | Call       | method of the call   |
        | Call       | response status      |
        | Call       | request headers      |
        | Call       | request body         |
        | Call       | response headers     |
        | Call       | response body        |
        | Wait       | event id             |
        | Wait       | timeout as text      |
        | Wait       | timeout in Unix ms   |
        | Invoke     | invoked run          |
        | Invoke     | URL of the invoked workflow |
        | Invoke     | start of the invoked run    |
        | Invoke     | payload of the invoked run  |
        | Invoke     | headers of the invoked run  |

    @REQ-LOG-029 @stated
    Scenario Outline: A wait for at most <timeout> is recorded with the text and the time of its timeout
      Given a workflow that waits for an event, with the timeout "<timeout>"
      When the workflow is triggered and its event is notified
      Then the step information of the type "Wait" holds its timeout as text
      And the step information of the type "Wait" holds its timeout in Unix ms

      Examples: the documented forms
        | timeout |
        | 120s    |
        | 1m      |
        | 1h      |

    @REQ-LOG-030 @stated
    Scenario: A wait that times out says so
      Given a workflow with a step of the type "Wait"
      When the workflow is triggered and its wait times out
      Then the step of the wait says that it timed out

    @REQ-LOG-030 @stated @negative
    Scenario: A wait that is notified does not say that it timed out
      Given a workflow with a step of the type "Wait"
      When the workflow is triggered and its event is notified
      Then the step of the wait says that it did not time out
