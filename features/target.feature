@area-target
Feature: What a target file names

  `conform --check-target` tries each entry of a target file once. The name of a scenario is that of
  its entry. It works, fails, or is not known. No scenario is about a requirement.

  Rule: a driver does what the interface document does not describe

    Scenario: drivers.clock
      Given the driver "clock"
      Then it works: the time is {time}

    Scenario: drivers.account
      Given the driver "account" is called
      Then it works: made an account

    Scenario: drivers.group
      Given a URL group with the endpoints "one" and "two"
      When a message is published to the group
      Then the delivery to "one" and "two" holds:
        | body | some text |
      And it works: made a group of two endpoints; both received a message

    Scenario: drivers.pause
      Given the driver "pause" is called
      Then it works: paused a key

    Scenario: drivers.run
      Given a workflow with:
        | first  | Run |
        | second | Run |
      When the workflow is triggered
      Then the run succeeds
      And it works: triggered a workflow of two steps; it ran to its end

    Scenario: drivers.cancel
      Given the driver "cancel"
      And a waiting run
      When the run is cancelled
      Then the run is recorded as "RUN_CANCELED"
      And it works: cancelled a waiting run; its log says so

    Scenario: drivers.search
      Given the driver "search"
      And a search index
      Then it works: made the index {search index}

    Scenario: drivers.search_look
      Given the driver "search_look"
      And a search index
      Then the search index can still be found
      And it works: found the index {search index}

    Scenario: drivers.plugin
      Given the driver "plugin"
      And a route limited to 1 requests per "1m" by the "fixed-window" algorithm
      When one client sends 1 request
      Then it works: started the host of the plugin; it answered a request

    Scenario: drivers.vectors
      Given the vectors "a" and "b" in a namespace of their own
      Then it works: put vectors into a namespace

    Scenario Outline: drivers.<name>
      Given the driver "<name>"
      Then it works: the target was prepared

      Examples: drivers that are called before the first scenario, which would have ended the run
        | name  |
        | index |
        | reset |

  Rule: a header of the target changes what happens to a message

    Scenario Outline: bindings.headers.<name>
      Given a destination
      And a message with:
        | header {<name>} | <value> |
      When the message is published
      Then the message arrives
      And the header "<name>" makes a difference: <difference>

      Examples:
        | name     | value              | difference                              |
        | callback | {success callback} | the callback was called                 |
        | label    | {an id}            | it is there, in what a run left behind  |
        | method   | PUT                | the message arrived by PUT              |
        | timeout  | 10s                | none that a message shows               |

    Scenario: bindings.headers.failure_callback
      Given a destination that always answers 503
      And a message with:
        | header Svc-Retries        | 0                  |
        | header {failure_callback} | {failure callback} |
      When the message is published
      Then the message arrives
      And the header "failure_callback" makes a difference: the callback was called

    Scenario Outline: bindings.headers.<name>
      Given a destination
      And a message with:
        | header {flow_key}   | {an id}       |
        | header {flow_value} | parallelism=5 |
      When the message is published
      Then the message arrives
      And the header "<name>" makes a difference: <difference>

      Examples:
        | name       | difference                             |
        | flow_key   | it is there, in what a run left behind |
        | flow_value | none that a message shows              |

    Scenario Outline: bindings.headers.<name>
      Then one try shows nothing: only a restart takes it

      Examples:
        | name             |
        | restart_flow_key |
        | restart_retries  |

    Scenario: bindings.headers.retry_delay
      When messages that fail once are published without a retry delay and with one
      Then the header "retry_delay" makes a difference: the message was tried again before one without the header

    Scenario: bindings.delay.format
      Given a destination
      And a message with:
        | header Svc-Delay | 3 seconds |
      When the message is published
      Then the message arrives after one without a delay

  Rule: names that are the target's own are in what it answers

    Scenario: bindings.stats.path
      When the usage statistics are read without a period
      Then it works: the statistics were read

    Scenario Outline: bindings.dlq.<filter>
      Then the dead letter queue lists less with the filter "<filter>" for <value>

      Examples: values that fit nothing, but for a size and a state
        | filter          | value                |
        | callback_state  | CALLBACK_FAIL        |
        | caller_ip       | 192.0.2.1            |
        | count           | 1                    |
        | from            | 4102444800000        |
        | label           | none                 |
        | response_status | 418                  |
        | run_id          | none                 |
        | to              | 946684800000         |
        | url             | https://none.example |

    Scenario Outline: bindings.logs.<filter>
      Then the message logs list less with the filter "<filter>" for <value>

      Examples: values that fit nothing, but for a size and a state
        | filter     | value                |
        | count      | 1                    |
        | created_at | 1767225600000        |
        | from       | 4102444800000        |
        | message_id | none                 |
        | run_id     | none                 |
        | state      | RUN_STARTED          |
        | to         | 946684800000         |
        | url        | https://none.example |

    Scenario Outline: bindings.<section>.cursor
      Then one try shows nothing: it is used when a list has a second page

      Examples:
        | section |
        | dlq     |
        | logs    |

    Scenario Outline: bindings.fields.<field>
      Then what runs have left has the field "<field>"

      Examples: values that the document describes without a name
        | field                        |
        | dlq.body                     |
        | dlq.body_base64              |
        | dlq.callback_request_headers |
        | dlq.flow_key                 |
        | dlq.label                    |
        | dlq.response_body_base64     |
        | log.error                    |
        | log.headers                  |
        | log.invoker_created_at       |
        | log.invoker_run_id           |
        | log.invoker_url              |
        | log.response                 |
        | log.response_body            |
        | log.response_headers         |
        | log.response_status          |
        | step.call_body               |
        | step.call_headers            |
        | step.call_method             |
        | step.call_response_body      |
        | step.call_response_headers   |
        | step.call_response_status    |
        | step.call_url                |
        | step.invoked_body            |
        | step.invoked_created_at      |
        | step.invoked_headers         |
        | step.invoked_run_id          |
        | step.invoked_url             |
        | step.out                     |
        | step.sleep_for               |
        | step.sleep_until             |
        | step.step_id                 |
        | step.wait_deadline           |
        | step.wait_duration           |
        | step.wait_event_id           |
        | step.wait_timeout            |
