@area-worlds
Feature: Worlds of messages, runs and limited routes

  Generated messages, runs and limited routes, which differ in every option, are under way at once.

  Rule: what the document says of one message holds for each of them

    @REQ-PUB-003 @stated @time-retries @time-delay
    Scenario: In worlds of messages a publish with the token in the header is accepted
      Given worlds of messages
      When everything in them has happened
      Then for every message, a publish with the token in the header is accepted

    @REQ-PUB-004 @stated @time-retries @time-delay
    Scenario: In worlds of messages a publish with the token in the query is accepted
      Given worlds of messages
      When everything in them has happened
      Then for every message, a publish with the token in the query is accepted

    @REQ-PUB-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages a message to a URL arrives there
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message to a URL arrives there

    @REQ-PUB-002 @stated @time-retries @time-delay
    Scenario: In worlds of messages a message to a group arrives at every endpoint
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message to a group arrives at every endpoint

    @REQ-FLC-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages a message that a key holds arrives after the resume
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message that a key holds arrives after the resume

    @REQ-FLC-003 @implied @time-retries @time-delay
    Scenario: In worlds of messages a message stays held while only other keys are resumed
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message stays held while only other keys are resumed

    @REQ-PUB-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages nothing arrives that was not published there
      Given worlds of messages
      When everything in them has happened
      Then for every message, nothing arrives that was not published there

    @REQ-PUB-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt is at the path and the query of the destination
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt is at the path and the query of the destination

    @REQ-RTY-001 @stated @time-retries @time-delay
    Scenario: In worlds of messages an endpoint that fails is tried as often as the message allows
      Given worlds of messages
      When everything in them has happened
      Then for every message, an endpoint that fails is tried as often as the message allows

    @REQ-RTY-002 @stated @time-retries @time-delay
    Scenario: In worlds of messages an endpoint is not tried more often than the message allows
      Given worlds of messages
      When everything in them has happened
      Then for every message, an endpoint is not tried more often than the message allows

    @REQ-RTY-003 @implied @time-retries @time-delay
    Scenario: In worlds of messages nothing is called again after a success, nor a callback more often than the message
      Given worlds of messages
      When everything in them has happened
      Then for every message, nothing is called again after a success, nor a callback more often than the message

    @REQ-PUB-010 @stated @time-retries @time-delay
    Scenario: In worlds of messages nothing arrives before the delay has passed
      Given worlds of messages
      When everything in them has happened
      Then for every message, nothing arrives before the delay has passed

    @REQ-PUB-010 @implied @time-retries @time-delay
    Scenario: In worlds of messages a message is not delayed by what does not configure it
      Given worlds of messages
      When everything in them has happened
      Then for every message, a message is not delayed by what does not configure it

    @REQ-PUB-011 @implied @time-retries @time-delay
    Scenario: In worlds of messages every attempt has the body of the message, and the method and the type of the first
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt has the body of the message, and the method and the type of the first

    @REQ-PUB-006 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries the values of the forwarded headers
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries the values of the forwarded headers

    @REQ-PUB-006 @implied @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries the forwarded headers under their names
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries the forwarded headers under their names

    @REQ-PUB-007 @stated @time-retries @time-delay
    Scenario: In worlds of messages no attempt carries a header that is not forwarded
      Given worlds of messages
      When everything in them has happened
      Then for every message, no attempt carries a header that is not forwarded

    @REQ-PUB-008 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries all headers when the message forwards all
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries all headers when the message forwards all

    @REQ-PUB-009 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries all headers when the message forwards all by query
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries all headers when the message forwards all by query

    @REQ-GRP-002 @stated @time-retries @time-delay
    Scenario: In worlds of messages every attempt carries the default headers of the group
      Given worlds of messages
      When everything in them has happened
      Then for every message, every attempt carries the default headers of the group

    @REQ-GRP-002 @implied @time-retries @time-delay
    Scenario: In worlds of messages no attempt carries the default headers of another group
      Given worlds of messages
      When everything in them has happened
      Then for every message, no attempt carries the default headers of another group

    @REQ-PUB-014 @stated @time-retries @time-delay
    Scenario: In worlds of messages the callback of the outcome is called
      Given worlds of messages
      When everything in them has happened
      Then for every message, the callback of the outcome is called

    @REQ-PUB-014 @implied @time-retries @time-delay
    Scenario: In worlds of messages the failure callback is not called after a success
      Given worlds of messages
      When everything in them has happened
      Then for every message, the failure callback is not called after a success

    @REQ-AUT-006 @implied @leak @time-retries @time-delay
    Scenario: In worlds of messages no delivery and no callback shows the credential of the publisher
      Given worlds of messages
      When everything in them has happened
      Then for every message, no delivery and no callback shows the credential of the publisher

  Rule: what the document says of one run holds for each of them

    @REQ-LOG-007 @stated @time-retries @time-delay
    Scenario: In worlds of runs the log has RUN_STARTED and the creation of the first message
      Given worlds of runs
      When everything in them has happened
      Then for every run, the log has RUN_STARTED and the creation of the first message

    @REQ-LOG-008 @stated @time-retries @time-delay
    Scenario: In worlds of runs a run whose steps succeed in the end has RUN_SUCCESS
      Given worlds of runs
      When everything in them has happened
      Then for every run, a run whose steps succeed in the end has RUN_SUCCESS

    @REQ-LOG-009 @stated @time-retries @time-delay
    Scenario: In worlds of runs a run whose step fails too often has RUN_FAILED, after all retries
      Given worlds of runs
      When everything in them has happened
      Then for every run, a run whose step fails too often has RUN_FAILED, after all retries

    @REQ-LOG-016 @implied @time-retries @time-delay
    Scenario: In worlds of runs the log has one start and one end
      Given worlds of runs
      When everything in them has happened
      Then for every run, the log has one start and one end

    @REQ-RTY-001 @stated @time-retries @time-delay
    Scenario: In worlds of runs every step is executed as often as its failures and the retries demand
      Given worlds of runs
      When everything in them has happened
      Then for every run, every step is executed as often as its failures and the retries demand

    @REQ-RTY-002 @stated @time-retries @time-delay
    Scenario: In worlds of runs a step that fails is not executed more often than the retries plus one
      Given worlds of runs
      When everything in them has happened
      Then for every run, a step that fails is not executed more often than the retries plus one

    @REQ-RTY-003 @implied @time-retries @time-delay
    Scenario: In worlds of runs nothing is repeated after a success, and no step follows a failed one
      Given worlds of runs
      When everything in them has happened
      Then for every run, nothing is repeated after a success, and no step follows a failed one

    @REQ-PUB-010 @stated @time-retries @time-delay
    Scenario: In worlds of runs a delayed run does not begin before its delay has passed
      Given worlds of runs
      When everything in them has happened
      Then for every run, a delayed run does not begin before its delay has passed

    @REQ-PUB-011 @implied @time-retries @time-delay
    Scenario: In worlds of runs every call has the payload of the run
      Given worlds of runs
      When everything in them has happened
      Then for every run, every call has the payload of the run

    @REQ-LOG-015 @stated @time-retries @time-delay
    Scenario: In worlds of runs every executed step is recorded under its name
      Given worlds of runs
      When everything in them has happened
      Then for every run, every executed step is recorded under its name

    @REQ-LOG-013 @stated @time-retries @time-delay
    Scenario: In worlds of runs every step is recorded with its type
      Given worlds of runs
      When everything in them has happened
      Then for every run, every step is recorded with its type

    @REQ-LOG-014 @stated @time-retries @time-delay
    Scenario: In worlds of runs one message has the type Initial, and none was created before it
      Given worlds of runs
      When everything in them has happened
      Then for every run, one message has the type Initial, and none was created before it

    @REQ-LOG-028 @stated @time-retries @time-delay
    Scenario: In worlds of runs every step is recorded with the number of steps beside it
      Given worlds of runs
      When everything in them has happened
      Then for every run, every step is recorded with the number of steps beside it

    @REQ-LOG-004 @implied @time-retries @time-delay
    Scenario: In worlds of runs different steps have different messages, and each message has one creation
      Given worlds of runs
      When everything in them has happened
      Then for every run, different steps have different messages, and each message has one creation

    @REQ-LOG-004 @implied @time-retries @time-delay
    Scenario: In worlds of runs a message is created within its run, before its events and its delivery
      Given worlds of runs
      When everything in them has happened
      Then for every run, a message is created within its run, before its events and its delivery

    @REQ-LOG-008 @stated @time-retries @time-delay
    Scenario: In worlds of runs every step and every message of a run that succeeds has DELIVERED
      Given worlds of runs
      When everything in them has happened
      Then for every run, every step and every message of a run that succeeds has DELIVERED

    @REQ-LOG-010 @stated @time-retries @time-delay
    Scenario: In worlds of runs every message that fails has ERROR, and a run without a failure has none
      Given worlds of runs
      When everything in them has happened
      Then for every run, every message that fails has ERROR, and a run without a failure has none

    @REQ-LOG-026 @stated @time-retries @time-delay
    Scenario: In worlds of runs every ERROR has the status of an attempt, and the last one that of the last
      Given worlds of runs
      When everything in them has happened
      Then for every run, every ERROR has the status of an attempt, and the last one that of the last

    @REQ-LOG-019 @stated @time-retries @time-delay
    Scenario: In worlds of runs every wait has its own WAITER_ADDED
      Given worlds of runs
      When everything in them has happened
      Then for every run, every wait has its own WAITER_ADDED

    @REQ-LOG-020 @stated @time-retries @time-delay
    Scenario: In worlds of runs every invocation has its own INVOKED
      Given worlds of runs
      When everything in them has happened
      Then for every run, every invocation has its own INVOKED

    @REQ-LOG-027 @stated @time-retries @time-delay
    Scenario: In worlds of runs only the start of the invoked run names the invoker
      Given worlds of runs
      When everything in them has happened
      Then for every run, only the start of the invoked run names the invoker

    @REQ-LOG-017 @implied @time-retries @time-delay
    Scenario: In worlds of runs all events agree on the address and the creation of the run
      Given worlds of runs
      When everything in them has happened
      Then for every run, all events agree on the address and the creation of the run

    @REQ-LOG-029 @implied @time-retries @time-delay
    Scenario: In worlds of runs what follows a sleep is created after it
      Given worlds of runs
      When everything in them has happened
      Then for every run, what follows a sleep is created after it

    @REQ-DLQ-005 @stated @time-retries @time-delay
    Scenario: In worlds of runs a run that failed is in the dead letter queue
      Given worlds of runs
      When everything in them has happened
      Then for every run, a run that failed is in the dead letter queue

    @REQ-DLQ-015 @implied @time-retries @time-delay
    Scenario: In worlds of runs a run that succeeded is not in the dead letter queue
      Given worlds of runs
      When everything in them has happened
      Then for every run, a run that succeeded is not in the dead letter queue

    @REQ-DLQ-016 @implied @time-retries @time-delay
    Scenario: In worlds of runs a run that failed has one entry
      Given worlds of runs
      When everything in them has happened
      Then for every run, a run that failed has one entry

    @REQ-DLQ-010 @stated @time-retries @time-delay
    Scenario: In worlds of runs the entry has the status, the headers and the body of the last attempt
      Given worlds of runs
      When everything in them has happened
      Then for every run, the entry has the status, the headers and the body of the last attempt

    @REQ-DLQ-014 @stated @time-retries @time-delay
    Scenario: In worlds of runs the entry has the id, the address and the retries of the run
      Given worlds of runs
      When everything in them has happened
      Then for every run, the entry has the id, the address and the retries of the run

    @REQ-DLQ-007 @implied @time-retries @time-delay
    Scenario: In worlds of runs the message and the times of the entry are those of the log, where it is not delivered
      Given worlds of runs
      When everything in them has happened
      Then for every run, the message and the times of the entry are those of the log, where it is not delivered

    @REQ-DLQ-017 @stated @time-retries @time-delay
    Scenario: In worlds of runs the entry has the payload, the label and the key of the run
      Given worlds of runs
      When everything in them has happened
      Then for every run, the entry has the payload, the label and the key of the run

    @REQ-DLQ-011 @stated @time-retries @time-delay
    Scenario: In worlds of runs the entry names the failure callback exactly when one was set
      Given worlds of runs
      When everything in them has happened
      Then for every run, the entry names the failure callback exactly when one was set

    @REQ-DLQ-012 @stated @time-retries @time-delay
    Scenario: In worlds of runs the failure callback of a run that failed is called, and its outcome is stored
      Given worlds of runs
      When everything in them has happened
      Then for every run, the failure callback of a run that failed is called, and its outcome is stored

    @REQ-DLQ-012 @implied @time-retries @time-delay
    Scenario: In worlds of runs the failure callback is called once by a run that failed, and not by one that succeeded
      Given worlds of runs
      When everything in them has happened
      Then for every run, the failure callback is called once by a run that failed, and not by one that succeeded

    @REQ-RST-001 @stated @time-retries @time-delay
    Scenario: In worlds of runs a restart answers the id and the creation of the new run
      Given worlds of runs
      When everything in them has happened
      Then for every run, a restart answers the id and the creation of the new run

    @REQ-RST-002 @stated @time-retries @time-delay
    Scenario: In worlds of runs the run of a restart has an id of its own
      Given worlds of runs
      When everything in them has happened
      Then for every run, the run of a restart has an id of its own

    @REQ-RST-005 @stated @time-retries @time-delay
    Scenario: In worlds of runs a restart with a chosen id makes a run with it
      Given worlds of runs
      When everything in them has happened
      Then for every run, a restart with a chosen id makes a run with it

    @REQ-RST-003 @stated @time-retries @time-delay
    Scenario: In worlds of runs the run of a restart is called with the original payload
      Given worlds of runs
      When everything in them has happened
      Then for every run, the run of a restart is called with the original payload

    @REQ-RST-006 @stated @time-retries @time-delay
    Scenario: In worlds of runs the run of a restart has the flow-control value of the restart, or else the original one
      Given worlds of runs
      When everything in them has happened
      Then for every run, the run of a restart has the flow-control value of the restart, or else the original one

    @REQ-RST-007 @implied @time-retries @time-delay
    Scenario: In worlds of runs the run of a restart is in the log with the creation that the restart answered
      Given worlds of runs
      When everything in them has happened
      Then for every run, the run of a restart is in the log with the creation that the restart answered

    @REQ-FLC-003 @implied @time-retries @time-delay
    Scenario: In worlds of runs a run stays held while only other keys are resumed
      Given worlds of runs
      When everything in them has happened
      Then for every run, a run stays held while only other keys are resumed

    @REQ-FLC-001 @stated @time-retries @time-delay
    Scenario: In worlds of runs a run that a key holds is executed after the resume
      Given worlds of runs
      When everything in them has happened
      Then for every run, a run that a key holds is executed after the resume

    @REQ-RST-004 @stated @time-retries @time-delay
    Scenario: In worlds of runs the run of a restart executes its steps from the first one
      Given worlds of runs
      When everything in them has happened
      Then for every run, the run of a restart executes its steps from the first one

    @REQ-RST-010 @stated @time-retries @time-delay
    Scenario: In worlds of runs the run of a restart has the retries of the restart, or else the original ones
      Given worlds of runs
      When everything in them has happened
      Then for every run, the run of a restart has the retries of the restart, or else the original ones

  Rule: what the document says of filters and pages holds for each read of the lists

    @REQ-DLQ-008 @stated @paging @time-retries
    Scenario: In reads of the dead letter queue everything is listed that fits the filters
      Given reads of the dead letter queue in worlds of runs
      When everything in them has happened
      Then for every read, everything is listed that fits the filters

    @REQ-DLQ-008 @stated @paging @time-retries
    Scenario: In reads of the dead letter queue nothing is listed that the filters leave out
      Given reads of the dead letter queue in worlds of runs
      When everything in them has happened
      Then for every read, nothing is listed that the filters leave out

    @REQ-DLQ-009 @stated @paging @time-retries
    Scenario: In reads of the dead letter queue everything is listed that fits the dates
      Given reads of the dead letter queue in worlds of runs
      When everything in them has happened
      Then for every read, everything is listed that fits the dates

    @REQ-DLQ-009 @stated @paging @time-retries
    Scenario: In reads of the dead letter queue nothing is listed that the dates leave out
      Given reads of the dead letter queue in worlds of runs
      When everything in them has happened
      Then for every read, nothing is listed that the dates leave out

    @REQ-AUT-005 @implied @leak @time-retries
    Scenario: In reads of the dead letter queue nothing is listed to another account
      Given reads of the dead letter queue in worlds of runs
      When everything in them has happened
      Then for every read, nothing is listed to another account

    @REQ-DLQ-003 @stated @paging @time-retries
    Scenario: In reads of the dead letter queue nothing is listed twice
      Given reads of the dead letter queue in worlds of runs
      When everything in them has happened
      Then for every read, nothing is listed twice

    @REQ-LOG-011 @stated @paging @time-retries
    Scenario: In reads of the message logs everything is listed that fits the filters
      Given reads of the message logs in worlds of runs
      When everything in them has happened
      Then for every read, everything is listed that fits the filters

    @REQ-LOG-011 @stated @paging @time-retries
    Scenario: In reads of the message logs nothing is listed that the filters leave out
      Given reads of the message logs in worlds of runs
      When everything in them has happened
      Then for every read, nothing is listed that the filters leave out

    @REQ-LOG-012 @stated @paging @time-retries
    Scenario: In reads of the message logs everything is listed that fits the dates
      Given reads of the message logs in worlds of runs
      When everything in them has happened
      Then for every read, everything is listed that fits the dates

    @REQ-LOG-012 @stated @paging @time-retries
    Scenario: In reads of the message logs nothing is listed that the dates leave out
      Given reads of the message logs in worlds of runs
      When everything in them has happened
      Then for every read, nothing is listed that the dates leave out

    @REQ-AUT-005 @implied @leak @time-retries
    Scenario: In reads of the message logs nothing is listed to another account
      Given reads of the message logs in worlds of runs
      When everything in them has happened
      Then for every read, nothing is listed to another account

    @REQ-LOG-003 @stated @paging @time-retries
    Scenario: In reads of the message logs nothing is listed twice
      Given reads of the message logs in worlds of runs
      When everything in them has happened
      Then for every read, nothing is listed twice

  Rule: what the document says of a limit holds for each limited route

    @REQ-RLP-001 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a configuration with all required keys is accepted
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a configuration with all required keys is accepted

    @REQ-RLP-003 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a request with a method that is not listed reaches the application
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a request with a method that is not listed reaches the application

    @REQ-RLP-005 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a request to another path reaches the application
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a request to another path reaches the application

    @REQ-RLP-010 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a fixed window admits its tokens
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a fixed window admits its tokens

    @REQ-RLP-010 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a fixed window denies what exceeds its tokens
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a fixed window denies what exceeds its tokens

    @REQ-RLP-011 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a sliding window admits its tokens
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a sliding window admits its tokens

    @REQ-RLP-011 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a sliding window denies what exceeds its tokens
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a sliding window denies what exceeds its tokens

    @REQ-RLP-012 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a bucket admits its tokens and its refills
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a bucket admits its tokens and its refills

    @REQ-RLP-012 @stated @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a bucket denies what exceeds its tokens and its refills
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a bucket denies what exceeds its tokens and its refills

    @REQ-RLP-013 @implied @cap-ratelimit @time-window
    Scenario: In worlds of limited routes a denied request does not reach the application
      Given worlds of limited routes
      When everything in them has happened
      Then for every limited route, a denied request does not reach the application
