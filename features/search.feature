@area-search @cap-search-delete
Feature: Deleting a search index

  Rule: a delete removes the index and all its data permanently

    @REQ-SRC-001 @stated @shape
    Scenario: The answer of a delete is 200 with a JSON string
      Given a search index
      When the search index is deleted
      Then every answer has the form of the document

    @REQ-SRC-002 @stated
    Scenario: A deleted index is gone
      Given a search index
      When the search index is deleted
      Then the search index can no longer be found

    @REQ-SRC-003 @implied @negative
    Scenario: Another index stays
      Given a search index
      And another search index
      When the search index is deleted
      Then the other search index can still be found
