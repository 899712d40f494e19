"""The published messaging client: batches, queues, groups, schedules, DLQ, logs."""

import os
import unittest

from qstash import QStash
from qstash.errors import QStashError
from qstash.log import LogState

from standin import BASE, StandInTest, advance, deliveries

client = QStash(os.environ["QSTASH_TOKEN"], base_url=BASE)


def urls():
    return sorted(d["url"] for d in deliveries())


class Batch(StandInTest):
    def test_without_a_queue(self):
        results = client.message.batch_json([{"url": "https://app.test/a", "body": {"n": 1}}, {"url": "https://app.test/b"}])
        self.assertEqual(len(results), 2)
        self.assertEqual(urls(), ["https://app.test/a", "https://app.test/b"])

    def test_with_a_queue(self):
        client.queue.upsert("line", parallelism=1)
        result, = client.message.batch_json([{"url": "https://app.test/a", "queue": "line", "body": "x"}])
        self.assertTrue(result.message_id)
        self.assertEqual(urls(), ["https://app.test/a"])

    def test_to_a_group_and_a_url(self):
        client.url_group.upsert_endpoints("pair", [{"url": "https://app.test/1"}, {"url": "https://app.test/2"}])
        to_group, to_url = client.message.batch([{"url_group": "pair", "body": "x"}, {"url": "https://app.test/3", "body": "x"}])
        self.assertEqual(len(to_group), 2)
        self.assertTrue(to_url.message_id)
        self.assertEqual(urls(), ["https://app.test/1", "https://app.test/2", "https://app.test/3"])


class Queues(StandInTest):
    def test_pause_and_resume(self):
        client.queue.upsert("line", parallelism=2)
        client.queue.pause("line")
        client.message.enqueue(queue="line", url="https://app.test/a", body="x")
        queue = client.queue.get("line")
        self.assertEqual((queue.paused, queue.parallelism, queue.lag), (True, 2, 1))
        self.assertEqual(urls(), [])
        client.queue.resume("line")
        self.assertEqual(urls(), ["https://app.test/a"])

    def test_paused_of_upsert(self):
        client.queue.upsert("line", parallelism=1, paused=True)
        self.assertTrue(client.queue.get("line").paused)
        client.queue.upsert("line", parallelism=1, paused=False)
        self.assertFalse(client.queue.get("line").paused)

    def test_list_and_delete(self):
        client.queue.upsert("line")
        self.assertEqual([q.name for q in client.queue.list()], ["line"])
        client.queue.delete("line")
        self.assertEqual(client.queue.list(), [])


class Groups(StandInTest):
    def test_an_unknown_group_is_deleted_as_well(self):
        client.url_group.delete("unknown")

    def test_publish(self):
        client.url_group.upsert_endpoints("pair", [{"url": "https://app.test/1", "name": "one"}, {"url": "https://app.test/2"}])
        self.assertEqual(len(client.message.publish(url_group="pair", body="x")), 2)
        self.assertEqual(urls(), ["https://app.test/1", "https://app.test/2"])
        client.url_group.remove_endpoints("pair", [{"name": "one"}])
        self.assertEqual([e.url for e in client.url_group.get("pair").endpoints], ["https://app.test/2"])

    def test_an_unknown_group_is_named(self):
        with self.assertRaisesRegex(QStashError, "topic unknown not found"):
            client.message.publish(url_group="unknown", body="x")


class Schedules(StandInTest):
    def test_every_minute(self):
        schedule_id = client.schedule.create_json(destination="https://app.test/tick", cron="* * * * *", body={"n": 1})
        advance("3m")
        self.assertEqual(len(deliveries()), 3)
        client.schedule.pause(schedule_id)
        self.assertTrue(client.schedule.get(schedule_id).paused)
        advance("3m")
        self.assertEqual(len(deliveries()), 3)
        client.schedule.resume(schedule_id)
        advance("1m")
        self.assertEqual(len(deliveries()), 4)
        self.assertEqual([s.schedule_id for s in client.schedule.list()], [schedule_id])
        client.schedule.delete(schedule_id)
        self.assertEqual(client.schedule.list(), [])


class Messages(StandInTest):
    def test_get_and_cancel(self):
        ids = [client.message.publish(url="https://app.test/later", body="x", delay="1h").message_id for _ in range(3)]
        self.assertEqual(client.message.get(ids[0]).url, "https://app.test/later")
        client.message.cancel(ids[0])
        self.assertEqual(client.message.cancel_many(ids[1:2]), 1)
        self.assertEqual(client.message.cancel_many([]), 0)
        self.assertEqual(client.message.cancel_all(), 1)
        advance("2h")
        self.assertEqual(urls(), [])


class DeadLetters(StandInTest):
    def fail(self, n):
        for i in range(n):
            client.message.publish(url=f"https://down.test/{i}", body="payload", retries=0, label=f"l{i}")
        deliveries()

    def test_list_get_and_delete(self):
        self.fail(1)
        entry, = client.dlq.list().messages
        self.assertEqual((entry.response_status, entry.response_body, entry.body), (503, "busy", "payload"))
        self.assertEqual(client.dlq.get(entry.dlq_id).message_id, entry.message_id)
        client.dlq.delete(entry.dlq_id)
        self.assertEqual(client.dlq.list().messages, [])

    def test_delete_many(self):
        self.fail(3)
        entries = client.dlq.list().messages
        self.assertEqual(client.dlq.delete_many([]), 0)
        self.assertEqual(client.dlq.delete_many([e.dlq_id for e in entries[:2]]), 2)
        self.assertEqual([e.dlq_id for e in client.dlq.list().messages], [entries[2].dlq_id])

    def test_pages_and_filters(self):
        self.fail(3)
        first = client.dlq.list(count=2)
        second = client.dlq.list(count=2, cursor=first.cursor)
        self.assertEqual([len(first.messages), len(second.messages)], [2, 1])
        self.assertEqual(len(client.dlq.list(count=5000).messages), 3)
        self.assertEqual(len(client.dlq.list(filter={"label": "l1"}).messages), 1)


class Logs(StandInTest):
    def test_an_entry(self):
        message_id = client.message.publish(url="https://app.test/a", body="hello", retry_delay="1000 * retried").message_id
        deliveries()
        entries = client.log.list(filter={"message_id": message_id}).logs
        self.assertEqual([e.state for e in entries], [LogState.DELIVERED, LogState.ACTIVE, LogState.CREATED])
        self.assertEqual({e.retry_delay_expression for e in entries}, {"1000 * retried"})
        self.assertEqual({e.body_base64 for e in entries}, {"aGVsbG8="})

    def test_filters(self):
        ids = [client.message.publish(url=f"https://app.test/{i}", body="x").message_id for i in range(3)]
        deliveries()
        found = client.log.list(filter={"message_ids": ids[:2], "state": LogState.DELIVERED}).logs
        self.assertEqual({e.message_id for e in found}, set(ids[:2]))


if __name__ == "__main__":
    unittest.main()
