import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.RAMDirectory;
import org.apache.lucene.util.Version;

/** Lucene: threads put documents into an index, others look for them; what is found is counted. */
public final class Search {
    static final int WRITERS = 2;

    static int fill(IndexWriter writer, int number, long until) throws Exception {
        int written = 0;
        for (; written == 0 || System.nanoTime() < until; written++) {
            StringBuilder text = new StringBuilder("writer" + number);
            for (int word = 0; word < 60; word++)
                text.append(" w").append((written * 31 + word * word) % 5000);
            Document document = new Document();
            document.add(new TextField("text", text.toString(), Field.Store.YES));
            writer.addDocument(document);
        }
        return written;
    }

    static int count(IndexWriter writer, String word) throws Exception {
        try (DirectoryReader reader = DirectoryReader.open(writer, true)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            return searcher.search(new TermQuery(new Term("text", word)), 1).totalHits;
        }
    }

    public static void main(String[] arguments) throws Exception {
        IndexWriterConfig config =
            new IndexWriterConfig(Version.LATEST, new WhitespaceAnalyzer());
        config.setRAMBufferSizeMB(2);
        boolean right = true;
        try (IndexWriter writer = new IndexWriter(new RAMDirectory(), config)) {
            long until = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
            int[] written = new int[WRITERS];
            Thread[] threads = new Thread[WRITERS];
            for (int i = 0; i < WRITERS; i++) {
                int number = i;
                threads[i] = new Thread(() -> {
                    try {
                        written[number] = fill(writer, number, until);
                    } catch (Exception e) {
                        throw new RuntimeException(e);
                    }
                }, "writer " + i);
                threads[i].start();
            }
            while (System.nanoTime() < until)
                count(writer, "w17");
            for (int i = 0; i < WRITERS; i++) {
                threads[i].join();
                right &= count(writer, "writer" + i) == written[i] && written[i] > 0;
            }
        }
        System.out.println(right ? "right" : "wrong");
    }
}
