@area-vector
Feature: Information about a vector index

  Rule: the information is under result

    @REQ-VEC-001 @REQ-VEC-002 @REQ-VEC-003 @REQ-VEC-005 @REQ-VEC-006 @REQ-VEC-007 @stated @shape
    Scenario: The information about an index has the form of the document
      When the information about the vector index is read
      Then every answer has the form of the document

    @REQ-VEC-009 @implied
    Scenario: What is said of the dense index is said of the whole index
      Given the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read until it has moved
      Then the answer holds:
        | result/denseIndex/dimension          | absent or {answer at result/dimension}          |
        | result/denseIndex/similarityFunction | absent or {answer at result/similarityFunction} |
        | result/indexSize                     | not 0                                           |

  Rule: every namespace says what it holds

    @REQ-VEC-003 @REQ-VEC-007 @stated
    Scenario: The default namespace is listed beside another one, both with their counts
      Given the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read until it has moved
      Then every answer has the form of the document

    @REQ-VEC-004 @stated
    Scenario: The totals are the sums over the namespaces
      Given the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read until it has moved
      Then the totals are the sums over the namespaces

    @REQ-VEC-008 @implied
    Scenario: New vectors are counted, pending or ready
      Given the vectors "a", "b" and "c" in a namespace of their own
      When the information about the vector index is read until it has moved
      Then the index holds 3 vectors more than before, and is not smaller
