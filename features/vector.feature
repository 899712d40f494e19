@area-vector
Feature: Information about a vector index

  Rule: the information is under result

    @REQ-VEC-001 @stated @shape
    Scenario: The answer is 200 with an object "result"
      When the information about the vector index is read
      Then the answer is 200 with an object "result"

    @REQ-VEC-002 @stated @shape
    Scenario Outline: The information has its <field>
      When the information about the vector index is read
      Then the information has the field "<field>" as <kind>

      Examples: the required fields
        | field              | kind   |
        | vectorCount        | number |
        | pendingVectorCount | number |
        | indexSize          | number |
        | dimension          | number |
        | similarityFunction | string |
        | indexType          | string |
        | namespaces         | object |

    @REQ-VEC-005 @stated
    Scenario: The index type is one of the documented list
      When the information about the vector index is read
      Then the type of the index is DENSE, SPARSE or HYBRID

    @REQ-VEC-006 @stated @shape
    Scenario: What is said of a dense or sparse index is complete
      When the information about the vector index is read
      Then a dense index says its dimension, similarity function and embedding model, and a sparse index its embedding model

    @REQ-VEC-009 @implied
    Scenario: What is said of the dense index is said of the whole index
      Given the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read until it has moved
      Then the dense index has the dimension and the similarity function of the index, which has a size

  Rule: every namespace says what it holds

    @REQ-VEC-003 @stated
    Scenario: The default namespace is always listed
      When the information about the vector index is read
      Then the namespace "" is listed with its counts

    @REQ-VEC-003 @stated
    Scenario: The default namespace is listed beside another one
      Given the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read until it has moved
      Then the namespace "" is listed with its counts

    @REQ-VEC-007 @stated @shape
    Scenario: Every namespace has both counts
      Given the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read
      Then every namespace has a vectorCount and a pendingVectorCount

    @REQ-VEC-004 @stated
    Scenario: The totals are the sums over the namespaces
      Given the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read until it has moved
      Then the totals are the sums over the namespaces

    @REQ-VEC-008 @implied
    Scenario: New vectors are counted, pending or ready
      Given the information about the vector index as it is now
      And the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read until it has moved
      Then the index holds 3 vectors more than before, and is not smaller
