@area-restart
Feature: Restarting a failed run

  Rule: a restart creates a completely new run

    @REQ-RST-001 @stated @shape
    Scenario: The answer names the new run and its creation
      Given a dead-lettered run
      When its entry is restarted
      Then the answer holds:
        | workflowRunId     | some text                   |
        | workflowCreatedAt | between {trigger} and {now} |

    @REQ-RST-002 @stated
    Scenario: The new run has an id of its own
      Given a dead-lettered run
      When its entry is restarted
      Then the answer holds:
        | workflowRunId | some text |
        | workflowRunId | not {run} |

    @REQ-RST-002 @stated @race
    Scenario: Runs that are restarted at once are runs of their own
      Given 5 dead-lettered runs
      When all their entries are restarted at once
      Then the answers name different runs
      And each new run is called with the payload of its entry

    @REQ-RST-002 @implied @race
    Scenario: An entry that is restarted twice at once gives no run two answers
      Given a dead-lettered run
      When its entry is restarted twice at once
      Then the answers name different runs

    @REQ-RST-002 @stated
    Scenario: Runs that are restarted one after the other have different ids
      Given 3 dead-lettered runs
      When their entries are restarted one after the other
      Then the answers name different runs

    @REQ-RST-004 @stated
    Scenario: The new run executes from the first step, without earlier results
      Given a workflow with:
        | reserve | Run                |
        | charge  | Run fails with 503 |
      And a dead-lettered run of it
      When its entry is restarted
      Then the new run executes the step "reserve" again
      And the first call of the new run holds:
        | results | "" |

    @REQ-RST-003 @stated
    Scenario: The new run has the original payload
      Given a dead-lettered run
      When its entry is restarted
      Then the first call of the new run holds:
        | payload | {payload} |

    @REQ-RST-003 @stated
    Scenario: The new run has an original payload that is not UTF-8
      Given a run with:
        | payload | not UTF-8 |
      And a dead-lettered run
      When its entry is restarted
      Then the first call of the new run holds:
        | payload | {payload} |

    @REQ-RST-003 @stated
    Scenario: The new run has the original headers
      Given a dead-lettered run
      When its entry is restarted
      Then the first call of the new run holds:
        | header | contains order-7 |

    @REQ-RST-003 @stated
    Scenario Outline: The entry of the new run has the original <what>
      Given a dead-lettered run that is configured in every way
      When its entry is restarted
      Then the entry of the new run holds:
        | <place> | {original at <place>} |

      Examples: what an entry shows of the configuration
        | what             | place           |
        | address          | workflowUrl     |
        | retries          | maxRetries      |
        | failure callback | failureCallback |
        | method           | method          |

    @REQ-RST-003
    Scenario Outline: The entry of the new run has the original <what>, which is described without a name
      Given a dead-lettered run that is configured in every way
      When its entry is restarted
      Then the entry of the new run holds:
        | {dlq.<place>} | {original at dlq.<place>} |

      @stated
      Examples: payload and configuration
        | what             | place    |
        | payload          | body     |
        | flow-control key | flow_key |

      @implied
      Examples: what the document does not call configuration
        | what  | place |
        | label | label |

    @REQ-RST-003 @stated
    Scenario: The new run is called by the original method
      Given a dead-lettered run that is configured in every way
      When its entry is restarted
      Then the first call of the new run holds:
        | method | {method} |

    @REQ-RST-003 @stated @time-retries
    Scenario: The new run has the original retries
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      And a dead-lettered run of it
      When its entry is restarted
      Then the new run is tried exactly 2 times

    @REQ-RST-003 @REQ-RST-005 @stated
    Scenario: A run that is restarted with a chosen run id has the original configuration
      Given a dead-lettered run that is configured in every way
      When its entry is restarted with:
        | header Svc-Workflow-RunId | {chosen run} |
      Then the answer holds:
        | workflowRunId | {chosen run} |
      And the entry of the new run holds:
        | workflowUrl     | {original at workflowUrl}     |
        | maxRetries      | {original at maxRetries}      |
        | failureCallback | {original at failureCallback} |
        | {dlq.flow_key}  | {original at dlq.flow_key}    |
        | {dlq.body}      | {original at dlq.body}        |
      And the first call of the new run holds:
        | header | contains order-7 |

    @REQ-RST-003 @implied
    Scenario: A run that is restarted with a chosen run id has the label of the original
      Given a dead-lettered run that is configured in every way
      When its entry is restarted with:
        | header Svc-Workflow-RunId | {chosen run} |
      Then the entry of the new run holds:
        | {dlq.label} | {original at dlq.label} |

    @REQ-RST-003 @stated
    Scenario: A run that is restarted from a restarted one has the original configuration
      Given a dead-lettered run that is configured in every way
      When its entry is restarted, and then the entry of the new run
      Then the entry of the new run holds:
        | workflowUrl     | {original at workflowUrl}     |
        | maxRetries      | {original at maxRetries}      |
        | failureCallback | {original at failureCallback} |
        | method          | {original at method}          |
      And the first call of the new run holds:
        | payload | {payload}        |
        | header  | contains order-7 |
        | method  | {method}         |

    @REQ-RST-003 @REQ-RST-007 @stated
    Scenario: A run that is restarted from a restarted one has the payload and the key of the original
      Given a dead-lettered run that is configured in every way
      When its entry is restarted, and then the entry of the new run
      Then the entry of the new run holds:
        | {dlq.body}     | {original at dlq.body}     |
        | {dlq.flow_key} | {original at dlq.flow_key} |
      And some event of the new run where "state" is "RUN_STARTED" holds:
        | workflowRunId | {new run} |

    @REQ-RST-003 @REQ-RST-007 @implied
    Scenario: A run that is restarted from a restarted one has the label of the original
      Given a dead-lettered run that is configured in every way
      When its entry is restarted, and then the entry of the new run
      Then the entry of the new run holds:
        | {dlq.label} | {original at dlq.label} |
      And some event of the new run where "state" is "RUN_STARTED" holds:
        | workflowCreatedAt | {answer at workflowCreatedAt} |

    @REQ-RST-003 @stated @time-retries
    Scenario: A run that is restarted from a restarted one has the original retries
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      And a dead-lettered run of it
      When its entry is restarted, and then the entry of the new run
      Then the new run is tried exactly 2 times

    @REQ-RST-003 @REQ-RST-004 @implied
    Scenario Outline: The log of a run that was restarted <times> is that of the original
      Given a workflow with:
        | a step of Call       | Call               |
        | a step of SleepFor   | SleepFor for 1s    |
        | a step of SleepUntil | SleepUntil for 1s  |
        | a step of Invoke     | Invoke             |
        | work                 | Run fails with 503 |
      And a dead-lettered run of it
      And the run was restarted <times> and failed again
      When the message logs are read
      Then the log of the new run is that of the failed one, but for its ids and times

      Examples: both generations
        | times |
        | once  |
        | twice |

    @REQ-RST-003 @REQ-DLQ-017 @stated
    Scenario Outline: The entry of a run that was restarted <times> has a payload and a response that are not UTF-8
      Given a workflow with:
        | work | Run fails with 503 and a body that is not UTF-8 |
      And a run with:
        | payload | not UTF-8 |
      And a dead-lettered run of it
      And the run was restarted <times> and failed again
      When the dead letter queue is read
      Then the entry holds:
        | {dlq.body_base64}          | base64 of {payload} |
        | {dlq.body?}                | nothing             |
        | {dlq.response_body_base64} | //4AgA==            |
        | responseBody               | absent              |

      Examples: both generations
        | times |
        | once  |
        | twice |

    @REQ-RST-007 @stated
    Scenario: The new run is in the logs with its id
      Given a dead-lettered run
      When its entry is restarted
      Then some event of the new run where "state" is "RUN_STARTED" holds:
        | workflowRunId | {new run} |

    @REQ-RST-007 @implied
    Scenario: The new run is in the logs with its id and its creation
      Given a dead-lettered run
      When its entry is restarted
      Then some event of the new run where "state" is "RUN_STARTED" holds:
        | workflowCreatedAt | {answer at workflowCreatedAt} |

    @REQ-RST-008 @implied
    Scenario: The new run was created by the restart, not before
      Given a dead-lettered run
      When its entry is restarted a second later
      Then the answer holds:
        | workflowCreatedAt | between {restart} and {now} |

    @REQ-RST-009 @implied
    Scenario: A restarted run that succeeds is recorded as such
      Given a dead-lettered run whose fault has been repaired
      When its entry is restarted
      Then the new run succeeds
      And every event of the run where "state" is "RUN_SUCCESS" holds:
        | {log.response} | {response} |
      And every event of the run where "state" is not "RUN_SUCCESS" holds:
        | {log.response} | nothing |

    @REQ-DLQ-013 @stated
    Scenario: The id of an entry is the one that a restart takes
      Given 3 dead-lettered runs
      When the entry of the second is restarted
      Then the first call of the new run holds:
        | payload | {"run":1} |

  Rule: headers of the restart override the original configuration

    @REQ-RST-005 @stated @cap-restart-custom-run-id
    Scenario: The caller chooses the id of the new run
      Given a dead-lettered run
      When its entry is restarted with:
        | header Svc-Workflow-RunId | {chosen run} |
      Then the answer holds:
        | workflowRunId | {chosen run} |
      And some event of the new run where "state" is "RUN_STARTED" holds:
        | workflowRunId | {new run} |

    @REQ-RST-006 @stated
    Scenario: The flow-control value of the restart takes the place of the original
      Given a run with:
        | header {flow_key}   | {an id}       |
        | header {flow_value} | parallelism=5 |
      And a dead-lettered run
      When its entry is restarted with:
        | header Svc-Flow-Control-Value | parallelism=2 |
      Then the new run goes out with the flow-control value "parallelism=2"

    @REQ-RST-005 @REQ-RST-006 @stated
    Scenario: A chosen run id and another flow-control value hold together
      Given a run with:
        | header {flow_key}   | {an id}       |
        | header {flow_value} | parallelism=5 |
      And a dead-lettered run
      When its entry is restarted with:
        | header Svc-Flow-Control-Value | parallelism=2 |
        | header Svc-Workflow-RunId     | {chosen run}  |
      Then the answer holds:
        | workflowRunId | {chosen run} |
      And the new run goes out with the flow-control value "parallelism=2"

    @REQ-RST-006 @stated
    Scenario: Without an override the original flow-control value is used again
      Given a run with:
        | header {flow_key}   | {an id}       |
        | header {flow_value} | parallelism=5 |
      And a dead-lettered run
      When its entry is restarted
      Then the new run goes out with the flow-control value "parallelism=5"

    @REQ-RST-010 @stated @time-retries
    Scenario: The retries of the restart take the place of the original
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      And a dead-lettered run of it
      When its entry is restarted with:
        | header {restart_retries} | 0 |
      Then the new run is tried exactly 1 times

    @REQ-RST-005 @REQ-RST-010 @stated @time-retries @cap-restart-custom-run-id
    Scenario: Two headers of a restart count together
      Given a workflow with:
        | work | Run fails with 503 |
      And a run with:
        | header Svc-Retries | 1 |
      And a dead-lettered run of it
      When its entry is restarted with:
        | header {restart_retries}  | 0            |
        | header Svc-Workflow-RunId | {chosen run} |
      Then the answer holds:
        | workflowRunId | {chosen run} |
      And the new run is tried exactly 1 times

    @REQ-RST-012 @stated
    Scenario: The flow-control key of the restart takes the place of the original
      Given a run with:
        | header {flow_key}   | {an id}       |
        | header {flow_value} | parallelism=5 |
      And a dead-lettered run
      When its entry is restarted with:
        | header {restart_flow_key} | {other key} |
      Then the entry of the new run holds:
        | {dlq.flow_key} | {other key} |

    @REQ-RST-011 @implied @negative
    Scenario: An entry that does not exist cannot be restarted
      Given a dead-lettered run
      When an entry that does not exist is restarted
      Then the request is refused
