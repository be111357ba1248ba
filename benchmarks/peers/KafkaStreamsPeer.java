import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * The fold of fold.py in Kafka Streams, one thread, RocksDB, state as raw doubles.
 *
 * <p>MODE=processor: two stores without a cache, so state, changelog and output are written once an event.
 * MODE=aggregate: one store with the default cache, so they are written once per key and commit (or eviction).
 * Writes the number of events done to standard output, five times a second.
 */
public final class KafkaStreamsPeer {
  record Event(
      String tenant_id, String agent_id, String event_id, String occurred_at, String turn_id, String type,
      String description, String other_agent_id, boolean responded, double response_time_ms, double response_length,
      double sentiment_shift, double reaction_count, boolean continued) {}

  record Output(
      String tenant_id, String agent_id, String event_id, double p, double a, double d, double[] mean, double[] slope) {}

  record Both(double[] mood, double[] trend, String tenant_id, String agent_id, String event_id) {}

  static final JsonMapper JSON =
      JsonMapper.builder(
              JsonFactory.builder()
                  .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
                  .enable(StreamWriteFeature.USE_FAST_DOUBLE_WRITER)
                  .build())
          .enable(
              DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES,
              DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .build();
  static final LongAdder DONE = new LongAdder();
  static final double MOOD_SECONDS = 14400, TREND_SECONDS = 86400, FLAT = 1e-12;
  static final int MOOD = 4, TREND = 22, SIGNALS = 4;

  // -- how things are written

  static <T> Serde<T> json(Class<T> type) {
    ObjectReader reader = JSON.readerFor(type);
    ObjectWriter writer = JSON.writerFor(type);
    return Serdes.serdeFrom(
        (topic, value) -> {
          try {
            return value == null ? null : writer.writeValueAsBytes(value);
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        },
        (topic, bytes) -> {
          try {
            return bytes == null ? null : reader.readValue(bytes);
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        });
  }

  static Serde<double[]> doubles() {
    return Serdes.serdeFrom(
        (topic, values) -> {
          if (values == null) return null;
          ByteBuffer buffer = ByteBuffer.allocate(8 * values.length);
          buffer.asDoubleBuffer().put(values);
          return buffer.array();
        },
        (topic, bytes) -> {
          if (bytes == null) return null;
          double[] values = new double[bytes.length / 8];
          ByteBuffer.wrap(bytes).asDoubleBuffer().get(values);
          return values;
        });
  }

  static Serde<Both> both() {
    return Serdes.serdeFrom(
        (topic, value) -> {
          if (value == null) return null;
          String names = value.tenant_id + "\n" + value.agent_id + "\n" + value.event_id;
          byte[] text = names.getBytes(StandardCharsets.UTF_8);
          ByteBuffer buffer = ByteBuffer.allocate(8 * (MOOD + TREND) + text.length);
          for (double each : value.mood) buffer.putDouble(each);
          for (double each : value.trend) buffer.putDouble(each);
          return buffer.put(text).array();
        },
        (topic, bytes) -> {
          if (bytes == null) return null;
          ByteBuffer buffer = ByteBuffer.wrap(bytes);
          double[] mood = new double[MOOD], trend = new double[TREND];
          for (int i = 0; i < MOOD; i++) mood[i] = buffer.getDouble();
          for (int i = 0; i < TREND; i++) trend[i] = buffer.getDouble();
          String text = new String(bytes, buffer.position(), buffer.remaining(), StandardCharsets.UTF_8);
          String[] names = text.split("\n");
          return new Both(mood, trend, names[0], names[1], names[2]);
        });
  }

  // -- the fold

  static double clamped(double value) {
    return value < -1 ? -1 : value > 1 ? 1 : value;
  }

  static double seconds(Event event) {
    return Instant.parse(event.occurred_at).toEpochMilli() / 1000.0;
  }

  static double[] mood(double[] state, Event e, double t) {
    double[] s = state == null ? new double[] {0, 0, 0, t} : state;
    double f = Math.exp(-Math.max(0, t - s[3]) / MOOD_SECONDS);
    double landed = e.responded && e.continued ? 0.05 : -0.05;
    return new double[] {
      clamped(s[0] * f + e.sentiment_shift), clamped(s[1] * f + 0.02 * e.reaction_count), clamped(s[2] * f + landed),
      Math.max(t, s[3])
    };
  }

  static double[] trend(double[] state, Event e, double t) {
    double[] s = state == null ? new double[TREND] : state;
    if (state == null) s[0] = s[1] = t;
    double f = Math.exp(-Math.max(0, t - s[1]) / TREND_SECONDS), x = (t - s[0]) / 3600;
    double[] found = new double[TREND];
    found[0] = s[0];
    found[1] = Math.max(t, s[1]);
    for (int j = 0; j < SIGNALS; j++) {
      double y = j == 0 ? e.response_time_ms : j == 1 ? e.response_length : j == 2 ? e.sentiment_shift : e.reaction_count;
      int i = 2 + 5 * j;
      found[i] = s[i] * f + 1;
      found[i + 1] = s[i + 1] * f + x;
      found[i + 2] = s[i + 2] * f + x * x;
      found[i + 3] = s[i + 3] * f + y;
      found[i + 4] = s[i + 4] * f + x * y;
    }
    return found;
  }

  static Output output(String tenant, String agent, String id, double[] mood, double[] s) {
    double[] mean = new double[SIGNALS], slope = new double[SIGNALS];
    for (int j = 0; j < SIGNALS; j++) {
      int i = 2 + 5 * j;
      double spread = s[i] * s[i + 2] - s[i + 1] * s[i + 1];
      mean[j] = s[i + 3] / s[i];
      slope[j] = spread > FLAT ? (s[i] * s[i + 4] - s[i + 1] * s[i + 3]) / spread : 0;
    }
    return new Output(tenant, agent, id, mood[0], mood[1], mood[2], mean, slope);
  }

  // -- the two applications

  static final class Step implements Processor<String, Event, String, Output> {
    private ProcessorContext<String, Output> context;
    private KeyValueStore<String, double[]> moods, trends;

    @Override
    public void init(ProcessorContext<String, Output> given) {
      context = given;
      moods = given.getStateStore("mood");
      trends = given.getStateStore("trend");
    }

    @Override
    public void process(Record<String, Event> record) {
      Event e = record.value();
      double t = seconds(e);
      double[] mood = mood(moods.get(record.key()), e, t), trend = trend(trends.get(record.key()), e, t);
      moods.put(record.key(), mood);
      trends.put(record.key(), trend);
      context.forward(record.withValue(output(e.tenant_id, e.agent_id, e.event_id, mood, trend)));
      DONE.increment();
    }
  }

  static KStream<String, Output> processed(StreamsBuilder builder, KStream<String, Event> events) {
    for (String name : List.of("mood", "trend")) {
      var store = Stores.persistentKeyValueStore(name);
      builder.addStateStore(
          Stores.keyValueStoreBuilder(store, Serdes.String(), doubles()).withLoggingEnabled(Map.of()).withCachingDisabled());
    }
    return events.process(Step::new, "mood", "trend");
  }

  static KStream<String, Output> aggregated(KStream<String, Event> events) {
    return events
        .groupByKey()
        .aggregate(
            () -> new Both(null, null, null, null, null),
            (key, e, old) -> {
              double t = seconds(e);
              DONE.increment();
              return new Both(mood(old.mood, e, t), trend(old.trend, e, t), e.tenant_id, e.agent_id, e.event_id);
            },
            Materialized.<String, Both, KeyValueStore<Bytes, byte[]>>as("state")
                .withKeySerde(Serdes.String())
                .withValueSerde(both()))
        .toStream()
        .mapValues(one -> output(one.tenant_id, one.agent_id, one.event_id, one.mood, one.trend));
  }

  static Properties properties(Map<String, String> env) {
    Properties found = new Properties();
    found.put(StreamsConfig.APPLICATION_ID_CONFIG, env.get("APP"));
    found.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, env.get("BOOTSTRAP"));
    found.put(StreamsConfig.STATE_DIR_CONFIG, env.get("FOLDER"));
    found.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    found.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE);
    found.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 3000);
    return found;
  }

  public static void main(String[] arguments) throws InterruptedException {
    Map<String, String> env = System.getenv();
    StreamsBuilder builder = new StreamsBuilder();
    var events = builder.stream(env.get("EVENTS"), Consumed.with(Serdes.String(), json(Event.class)));
    var outputs = env.get("MODE").equals("aggregate") ? aggregated(events) : processed(builder, events);
    outputs.to(env.get("OUTPUT"), Produced.with(Serdes.String(), json(Output.class)));
    KafkaStreams streams = new KafkaStreams(builder.build(), properties(env));
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
    while (true) {
      Thread.sleep(200);
      System.out.println("done " + DONE.sum());
    }
  }
}
