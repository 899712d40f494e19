@area-stats
Feature: Usage statistics

  Rule: the statistics are one object

    @REQ-STA-007 @stated @shape
    Scenario: Every time of a point is a UTC date and time with a fraction
      When the usage statistics are read without a period
      Then every answer has the form of the document

    @REQ-STA-001 @REQ-STA-008 @stated @shape
    Scenario Outline: The statistics for <period> have all fields, and points of a text and a number
      When the usage statistics are read for the period "<period>"
      Then every answer has the form of the document

      Examples: all periods
        | period |
        | 1h     |
        | 3h     |
        | 12h    |
        | 1d     |
        | 3d     |
        | 7d     |
        | 30d    |

    @REQ-STA-010 @stated @shape
    Scenario: Every day counts its workflow messages and runs
      When the usage statistics are read without a period
      Then every answer has the form of the document

  Rule: each period has its number of points, at equal distances

    @REQ-STA-002 @stated
    Scenario: The period is the last hour unless asked otherwise
      When the usage statistics are read without a period
      Then every answer has the form of the document

    @REQ-STA-003 @stated
    Scenario Outline: The period <period> has 60 points
      When the usage statistics are read for the period "<period>"
      Then every answer has the form of the document

      Examples: all periods but the longest
        | period |
        | 1h     |
        | 3h     |
        | 12h    |
        | 1d     |
        | 3d     |
        | 7d     |

    @REQ-STA-004 @stated
    Scenario: The period 30d has 240 points, three hours apart
      When the usage statistics are read for the period "30d"
      Then every answer has the form of the document

    @REQ-STA-005 @stated
    Scenario: The period 1h has one point per minute
      When the usage statistics are read for the period "1h"
      Then every answer has the form of the document

    @REQ-STA-005 @stated
    Scenario: The points of the last hour end now
      When the usage statistics are read for the period "1h"
      Then the last point of every per-period series is at most 2 minutes old

    @REQ-STA-006 @stated
    Scenario Outline: The points of the period <period> are <distance> apart
      When the usage statistics are read for the period "<period>"
      Then every answer has the form of the document

      Examples: sixty points to the period
        | period | distance |
        | 3h     | 3m       |
        | 12h    | 12m      |
        | 1d     | 24m      |
        | 3d     | 72m      |
        | 7d     | 168m     |

  Rule: the daily arrays cover the whole month

    @REQ-STA-009 @stated
    Scenario: There is a day for each day of the month, the future included
      When the usage statistics are read without a period
      Then the array of days has one item for each day of the current month

    @REQ-STA-009 @stated
    Scenario: The daily arrays line up with the days
      When the usage statistics are read without a period
      Then each item of the daily requests, billings and bandwidths is that of the day with its index

    @REQ-STA-009 @implied
    Scenario: The daily arrays are as long as the days
      When the usage statistics are read without a period
      Then the array of days and the daily requests, billings and bandwidths have one item for each day of the current month

  Rule: the figures are those of what happened

    @REQ-STA-011 @stated
    Scenario: The count of the dead letter queue rises with a failed run
      Given the usage statistics as they are now
      And a dead-lettered run
      When the usage statistics are read without a period
      Then the count of the dead letter queue has risen by 1

    @REQ-STA-011 @stated @exclusive
    Scenario: The count of the dead letter queue rises by as many runs as failed
      Given the usage statistics as they are now
      And 3 dead-lettered runs
      When the usage statistics are read without a period
      Then the count of the dead letter queue has risen by 3

    @REQ-STA-011 @stated @exclusive
    Scenario: The count of the dead letter queue is that of its entries after a restart
      Given the usage statistics as they are now
      And a dead-lettered run whose fault has been repaired
      When its entry is restarted
      Then the new run succeeds
      And the count of the dead letter queue has risen by as many entries as are listed

    @REQ-STA-011 @stated @exclusive @negative
    Scenario: A cancelled run is not in the count of the dead letter queue
      Given the usage statistics as they are now
      And a workflow with:
        | work | SleepFor |
      And the workflow is triggered and in progress
      And the run has been cancelled
      When the usage statistics are read without a period
      Then the count of the dead letter queue has risen by as many entries as are listed

    @REQ-STA-015 @implied @exclusive @negative
    Scenario: A failed run is not in the series of cancelled runs
      Given the usage statistics as they are now
      And a dead-lettered run
      When the usage statistics are read until they have moved
      Then these figures have not risen:
        | daily_workflow_messages canceled y |

    @REQ-STA-013 @implied
    Scenario: A delivered message is counted on the day of its delivery
      Given the usage statistics as they are now
      And a destination
      And a delivered message
      When the usage statistics are read until they have moved
      Then these figures have risen:
        | daily_requests of today y |

    @REQ-STA-014 @stated
    Scenario: A run is counted on the day of its start
      Given the usage statistics as they are now
      And a finished run
      When the usage statistics are read until they have moved
      Then these figures have risen:
        | daily_requests of today workflow_run |

    @REQ-STA-012 @implied
    Scenario: A delivered message raises the series of delivered messages
      Given the usage statistics as they are now
      And a destination
      And a delivered message
      When the usage statistics are read until they have moved
      Then these figures have risen:
        | daily_svc_messages delivered y |

    @REQ-STA-013 @implied
    Scenario: A delivered message raises the requests and the bandwidth of the day
      Given the usage statistics as they are now
      And a destination
      And a delivered message
      When the usage statistics are read until they have moved
      Then these figures have risen:
        | daily_requests y       |
        | daily_bandwidths y     |
        | daily_used y           |
        | daily_bandwidth_used y |

    @REQ-STA-014 @implied
    Scenario: A run raises the workflow figures of the day
      Given the usage statistics as they are now
      And a finished run
      When the usage statistics are read until they have moved
      Then these figures have risen:
        | daily_requests workflow_run     |
        | daily_requests workflow_message |
        | daily_used_workflow y           |

    @REQ-STA-016 @implied @exclusive @needs-driver-account
    Scenario: An account that has done nothing has figures of 0
      When the usage statistics are read without a period
      Then no figure but those of billing is above 0

    @REQ-STA-015 @implied
    Scenario: A cancelled run raises the series of cancelled runs
      Given the usage statistics as they are now
      And a workflow with:
        | work | SleepFor |
      And the workflow is triggered and in progress
      And the run has been cancelled
      When the usage statistics are read until they have moved
      Then these figures have risen:
        | daily_workflow_messages canceled y |
