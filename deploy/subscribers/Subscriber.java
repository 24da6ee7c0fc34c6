import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Follows the events topic with the Java client: {@code java -cp 'jars/*' Subscriber.java SERVERS TOPIC}.
 *
 * <p>Prints each page whose status changes, with the page that it is a duplicate of, or {@code -}. It keeps its state
 * in memory and reads the topic from its beginning. The rules are those of docs/events.md, "Folding".
 */
public final class Subscriber {
  /** Where one version of a page is; cluster is null for no cluster. */
  private record Place(long version, boolean hasLeft, String cluster) {
    boolean isAbove(Place other) {
      return version != other.version ? version > other.version : hasLeft && !other.hasLeft;
    }
  }

  /** The representative of a cluster at an epoch. */
  private record Account(long epoch, String page) {
    static Account later(Account known, Account added) {
      return added.epoch > known.epoch ? added : known;
    }
  }

  /** Reads whatever a page may hold in {@code meta}: numbers and names of any length. */
  private static final ObjectMapper JSON =
      new ObjectMapper(
          JsonFactory.builder()
              .streamReadConstraints(
                  StreamReadConstraints.builder()
                      .maxNumberLength(Integer.MAX_VALUE)
                      .maxNameLength(Integer.MAX_VALUE)
                      .build())
              .build());

  private static final Set<String> TYPES =
      Set.of(
          "io.neardup.archived.v1",
          "io.neardup.cluster-merge.v1",
          "io.neardup.contained.v1",
          "io.neardup.duplicate.v1",
          "io.neardup.gone.v1",
          "io.neardup.representative-changed.v1",
          "io.neardup.undecided.v1",
          "io.neardup.unique.v1");

  private String index = "";
  private final Map<String, Place> places = new HashMap<>();
  private final Map<String, Account> accounts = new HashMap<>();
  private final Map<String, String> absorbedBy = new HashMap<>();
  private final Map<String, String> printed = new HashMap<>();
  private final Set<String> dropped = new HashSet<>();

  public static void main(String[] arguments) throws Exception {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", arguments[0]);
    settings.put("enable.auto.commit", "false");
    settings.put("isolation.level", "read_committed");
    settings.put("auto.offset.reset", "none"); // what retention took before it was read is an error, not skipped
    settings.put("metadata.max.age.ms", "10000"); // so soon a partition that is added is noticed
    settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
    settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
    Subscriber subscriber = new Subscriber();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(arguments[1]).stream()
              .map(each -> new TopicPartition(each.topic(), each.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      while (true) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
          subscriber.feed(record);
        }
        subscriber.printChanges();
        if (consumer.partitionsFor(arguments[1]).size() != partitions.size()) {
          throw new IllegalStateException("the topic has another number of partitions now: start again");
        }
      }
    }
  }

  private void feed(ConsumerRecord<byte[], byte[]> record) throws Exception {
    String type = header(record, "ce_type");
    String ofIndex = header(record, "ce_index");
    if (!TYPES.contains(type) || ofIndex.compareTo(index) < 0) {
      return;
    }
    if (ofIndex.compareTo(index) > 0) { // a later index takes the place of all that earlier ones have said
      index = ofIndex;
      dropped.addAll(places.keySet());
      places.clear();
      accounts.clear();
      absorbedBy.clear();
    }
    JsonNode data = JSON.readTree(record.value());
    JsonNode cluster = data.path("cluster");
    switch (type) {
      case "io.neardup.duplicate.v1" -> {
        put(data.get("page"), cluster.isMissingNode() ? null : cluster.get("id").asText(), false);
        if (!cluster.isMissingNode()) {
          name(cluster, cluster.get("representative"));
        }
      }
      case "io.neardup.unique.v1" -> {
        if (cluster.isMissingNode()) {
          put(data.get("page"), null, false);
        } else {
          name(cluster, data.get("page"));
        }
      }
      case "io.neardup.gone.v1", "io.neardup.undecided.v1" -> put(data.get("page"), null, false);
      case "io.neardup.cluster-merge.v1" -> {
        for (String side : List.of("survivor", "absorbed")) {
          name(data.get(side), data.get(side).get("representative"));
        }
        merge(data.get("survivor").get("id").asText(), data.get("absorbed").get("id").asText());
      }
      case "io.neardup.representative-changed.v1" -> {
        name(cluster, data.get("representative"));
        put(data.get("former"), null, true);
      }
      default -> {} // contained and archived concern no cluster
    }
  }

  private static String header(ConsumerRecord<byte[], byte[]> record, String name) {
    Header header = record.headers().lastHeader(name);
    return header == null ? "" : new String(header.value(), StandardCharsets.UTF_8);
  }

  private void put(JsonNode page, String cluster, boolean hasLeft) {
    Place place = new Place(page.get("version").asLong(), hasLeft, cluster);
    places.merge(page.get("id").asText(), place, (known, added) -> added.isAbove(known) ? added : known);
  }

  private void name(JsonNode cluster, JsonNode page) {
    put(page, cluster.get("id").asText(), false);
    Account account = new Account(cluster.get("epoch").asLong(), page.get("id").asText());
    accounts.merge(survivorOf(cluster.get("id").asText()), account, Account::later);
  }

  private void merge(String survivor, String absorbed) {
    String to = survivorOf(survivor);
    String from = survivorOf(absorbed);
    if (!to.equals(from)) {
      absorbedBy.put(from, to);
      accounts.merge(to, accounts.remove(from), Account::later);
    }
  }

  private String survivorOf(String cluster) {
    String nearer = absorbedBy.get(cluster);
    while (nearer != null) {
      cluster = nearer;
      nearer = absorbedBy.get(cluster);
    }
    return cluster;
  }

  /** Returns the representative of the page's cluster if it is another page, else null. */
  private String duplicateOf(String page) {
    Place place = places.get(page);
    if (place == null || place.cluster == null) {
      return null;
    }
    String cluster = survivorOf(place.cluster);
    String kept = accounts.get(cluster).page;
    Place ofKept = places.get(kept);
    boolean isThere = ofKept.cluster != null && survivorOf(ofKept.cluster).equals(cluster);
    return isThere && !kept.equals(page) ? kept : null;
  }

  /** Looks at every page: enough for an example. */
  private void printChanges() {
    Set<String> pages = new HashSet<>(places.keySet());
    pages.addAll(dropped);
    for (String page : pages) {
      String kept = Objects.requireNonNullElse(duplicateOf(page), "-");
      if (!kept.equals(printed.put(page, kept))) {
        System.out.println(page + " " + kept);
      }
    }
    dropped.clear();
  }
}
