@area-log
Feature: Reading the message logs of workflows

  Rule: the answer is an object with events and a cursor

    @REQ-LOG-001 @stated @shape
    Scenario: The logs are an array of events
      When the message logs are read
      Then every answer has the form of the document

    @REQ-LOG-004 @stated @shape
    Scenario Outline: Every event of <kind> has all fields of the tables
      Given <kind>
      When the message logs are read
      Then every answer has the form of the document

      Examples: runs of every end
        | kind                |
        | a finished run      |
        | a dead-lettered run |
        | a waiting run       |

    @REQ-LOG-001 @stated @shape @paging
    Scenario: The cursor of every page is a string or absent
      Given a finished run
      When the message logs of the run are read 1 at a time
      Then every answer has the form of the document

    @REQ-LOG-022 @stated
    Scenario: The times of an event are in Unix ms
      Given a finished run
      When the message logs are read
      Then every event of the run holds:
        | time, workflowCreatedAt | between {trigger} and {now}           |
        | stepInfo/createdAt      | absent or between {trigger} and {now} |
        | workflowCreatedAt       | {first at workflowCreatedAt}             |

    @REQ-LOG-023 @stated
    Scenario: Every event names its run and the address of its workflow
      Given a finished run
      When the message logs are read
      Then every event of the run holds:
        | workflowUrl | {workflow} |

    @REQ-LOG-023 @stated
    Scenario: The events of another workflow name its own address
      Given two finished runs of different workflows
      When the message logs are read
      Then every event of the run holds:
        | workflowUrl | {workflow} |

    @REQ-LOG-017 @implied
    Scenario: All events of a run agree on its creation
      Given a finished run
      When the message logs are read
      Then every event of the run holds:
        | workflowCreatedAt | {first at workflowCreatedAt} |
        | workflowUrl       | {first at workflowUrl}       |

    @REQ-LOG-004 @REQ-LOG-005 @REQ-LOG-006 @REQ-LOG-007 @REQ-LOG-009 @REQ-LOG-010 @REQ-LOG-022 @REQ-LOG-023 @REQ-LOG-026 @stated @shape @time-retries
    Scenario Outline: The log of a run that is <way> is complete
      Given a dead-lettered run that is configured in every way and <way>
      When the message logs are read
      Then every answer has the form of the document
      And every event of the run holds:
        | time, workflowCreatedAt | between {trigger} and {now}           |
        | stepInfo/createdAt      | absent or between {trigger} and {now} |
        | workflowCreatedAt       | {first at workflowCreatedAt}             |
        | workflowUrl             | {workflow}                            |
      And every event of the run where "state" is "CREATED" holds:
        | nextDeliveryTime | an integer |
      And every event of the run where "state" is "ERROR" holds:
        | {log.error}             | some text                       |
        | {log.response_status}   | 503                             |
        | {log.response_body}     | out of order                    |
        | {log.response_headers?} | holds X-Fault: permanent, total |
        | {log.headers?}          | a header map                    |
      And every event of the run where "state" is not "ERROR" holds:
        | {log.error?}            | unset |
        | {log.response_status?}  | unset |
        | {log.response_body?}    | unset |
        | {log.response_headers?} | unset |
        | {log.headers?}          | unset |

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

  Rule: step information is on message-level events only

    @REQ-LOG-005 @stated
    Scenario Outline: Events of <kind> and step information
      Given <kind>
      When the message logs are read
      Then every answer has the form of the document

      Examples: runs of every end
        | kind                |
        | a finished run      |
        | a dead-lettered run |
        | a waiting run       |

    @REQ-LOG-006 @stated
    Scenario: A created message says when it is delivered next
      Given a finished run
      When the message logs are read
      Then every event of the run where "state" is "CREATED" holds:
        | nextDeliveryTime | an integer |

    @REQ-LOG-006 @implied
    Scenario: The next delivery of a delayed message is the end of its delay
      Given a workflow with:
        | work | SleepFor |
      And the workflow is triggered and in progress
      When the message logs are read
      Then some event of the run where "stepInfo/stepType" is "SleepFor" holds:
        | state            | CREATED                                                                        |
        | nextDeliveryTime | between {item at stepInfo/createdAt+58.5s} and {item at stepInfo/createdAt+61.5s} |

    @REQ-LOG-024 @implied
    Scenario: Every state is one that the document names or one of a message
      Given a workflow with:
        | work | Run fails with 503 |
      When the workflow is triggered
      Then the entry holds:
        | workflowRunId | {run} |
      And its step was tried exactly 1 time
      And every run-level state is one of the documented list

  Rule: pages hold at most 1000 events

    @REQ-LOG-002 @stated @time-long @paging
    Scenario: A page holds 1000 events unless asked otherwise
      Given a finished run with more than 1000 log events
      When the message logs are read without a page size
      Then the page holds exactly 1000 events and a cursor

    @REQ-LOG-002 @stated @time-long @paging
    Scenario: A larger page is not to be had
      Given a finished run with more than 1000 log events
      When the message logs are read with a page size of 1001
      Then the page holds at most 1000 events, or the request is refused

    @REQ-LOG-002 @stated @paging
    Scenario: A page of events is no larger than was asked for
      Given a finished run
      When the message logs of the run are read 2 at a time
      Then every event of the run is seen exactly once
      And every answer has the form of the document

    @REQ-LOG-003 @stated @paging
    Scenario Outline: Following the cursor in pages of <page> visits every event once
      Given a finished run
      When the message logs of the run are read <page> at a time
      Then every event of the run is seen exactly once
      And the last page has no cursor, or an empty one

      Examples: one by one, with a remainder, exactly the total, and beyond it
        | page |
        | 1    |
        | 4    |
        | all  |
        | 500  |

    @REQ-LOG-003 @stated @paging
    Scenario: Following the cursor visits every event of a run with steps of every type
      Given a workflow with:
        | a step of Call       | Call               |
        | a step of SleepFor   | SleepFor for 1s    |
        | a step of SleepUntil | SleepUntil for 1s  |
        | a step of Invoke     | Invoke             |
        | work                 | Run fails with 503 |
      And a dead-lettered run of it
      When the message logs of the run are read 1 at a time
      Then every event of the run is seen exactly once

    @REQ-LOG-003 @stated @paging
    Scenario: Every page of the logs is filtered
      Given two finished runs of different workflows
      When the message logs of the run are read 3 at a time
      Then the list holds all events that fit, and no other

    @REQ-LOG-003 @implied @paging @race
    Scenario: Events that are added while pages are read make none vanish
      Given a finished run
      When the message logs of the run are read 3 at a time while another run continues
      Then every event of the run is seen exactly once

  Rule: filters narrow the list

    @REQ-LOG-011 @stated
    Scenario Outline: The filter by <filter> gives all that fits and nothing else
      Given two finished runs of different workflows
      When the message logs are filtered by <filter>
      Then the list holds all events that fit, and no other

      Examples: the documented filters
        | filter                  |
        | run id                  |
        | workflow url            |
        | creation of the run     |
        | the state "RUN_SUCCESS" |
        | the state "DELIVERED"   |
        | the state "CREATED"     |
        | message id              |

    @REQ-LOG-011 @stated
    Scenario Outline: The filter by the state <state> gives all that fits of a run that failed
      Given a dead-lettered run
      When the message logs are filtered by the state "<state>"
      Then the list holds all events that fit, and no other

      Examples: states of both levels
        | state       |
        | RUN_STARTED |
        | RUN_FAILED  |
        | ERROR       |

    @REQ-LOG-012 @stated
    Scenario Outline: The <end> date is inclusive
      Given two finished runs of different workflows
      When the message logs are filtered by the <end> date of one of their events
      Then the list holds all events that fit, and no other

      Examples: both ends
        | end   |
        | start |
        | end   |

    @REQ-LOG-011 @stated @negative
    Scenario: A run that does not exist has no events
      Given a finished run
      When the message logs are filtered by an unknown run id
      Then the list is empty
