"""Prints revenue by currency and MRR from the public topics (docs/topics.md).

    pip install -r requirements.txt
    KAFKA_BROKERS=localhost:9092 SCHEMA_REGISTRY_URL=http://localhost:3000 python revenue.py
"""

import argparse
import os
import time
from collections import defaultdict
from datetime import datetime, timezone
from decimal import Decimal

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

TRANSACTIONS = "revenue.transactions"
MOVEMENTS = "revenue.mrr-movements"

# Decimals of a currency's minor unit (ISO 4217), where they are not 2.
DECIMALS = {
    **dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workspace", help="of this workspace only")
    options.add_argument("--environment", default="live", choices=["live", "test"])
    options.add_argument("--messages", type=int, default=0, help="end after so many; 0: never")
    options.add_argument("--seconds", type=float, default=10, help="end after so long")
    wanted = options.parse_args()

    # Any id can come: the deserializer asks the registry once for each, and keeps the answer.
    registry = SchemaRegistryClient(
        {"url": os.environ.get("SCHEMA_REGISTRY_URL", "http://localhost:3000")}
    )
    read = AvroDeserializer(registry)

    transactions = {}  # the newest version of each, by id
    movements = {}  # each once, by id
    for message in messages(wanted.messages, wanted.seconds):
        record = read(message.value(), SerializationContext(message.topic(), MessageField.VALUE))
        if record["environment"] != wanted.environment:
            continue
        if wanted.workspace and record["workspace"] != wanted.workspace:
            continue
        if message.topic() == MOVEMENTS:
            movements[record["id"]] = record
        # A repeat, or an older version after a newer one, changes nothing.
        elif record["version"] >= transactions.get(record["id"], record)["version"]:
            transactions[record["id"]] = record

    # What is dated ahead is not so yet: the price after a discount's announced end, say.
    now = datetime.now(timezone.utc)
    print_revenue(record for record in transactions.values() if record["timestamp"] <= now)
    print_mrr(record for record in movements.values() if record["at"] <= now)


def messages(count_max: int, seconds_max: float):
    """From the oldest message kept on. Nothing is committed: each run begins there again."""
    consumer = Consumer(
        {
            "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "localhost:9092"),
            "group.id": "revenue-example-python",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TRANSACTIONS, MOVEMENTS])
    ends_at = time.monotonic() + seconds_max
    count = 0
    try:
        while time.monotonic() < ends_at and not (count_max and count >= count_max):
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error():
                raise KafkaException(message.error())
            count += 1
            yield message
    finally:
        consumer.close()


def print_revenue(transactions) -> None:
    sold, refunded, in_base = defaultdict(int), defaultdict(int), defaultdict(int)
    for record in transactions:
        currency, base = record["original_currency"], record["base_currency"]
        # A refund that names no sale is a transaction of its own: nothing was sold by it.
        if record["type"] != "refund":
            sold[currency, base] += record["gross_amount"]
            in_base[currency, base] += record["normalized_amount"]
        refunded[currency, base] += record["refunded_amount"]
    for currency, base in sorted(refunded):
        print(
            f"{currency} sold {major(sold[currency, base], currency)}"
            f" refunded {major(refunded[currency, base], currency)}"
            f" sold in {base} {major(in_base[currency, base], base)}"
        )


def print_mrr(movements) -> None:
    mrr = defaultdict(Decimal)
    for record in movements:
        mrr[record["base_currency"]] += Decimal(record["mrr"])
    for currency in sorted(mrr):
        print(f"MRR {currency} {mrr[currency]:.6f}")


def major(minor: int, currency: str) -> Decimal:
    """Exact: amounts are integers of the minor unit, never floats."""
    return Decimal(minor).scaleb(-DECIMALS.get(currency, 2))


if __name__ == "__main__":
    main()
