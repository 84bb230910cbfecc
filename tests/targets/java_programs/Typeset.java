import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.StringReader;
import javax.xml.parsers.SAXParserFactory;
import org.apache.fop.apps.Fop;
import org.apache.fop.apps.FopFactory;
import org.apache.fop.apps.MimeConstants;
import org.xml.sax.InputSource;

/** FOP: threads typeset a document of several pages into PDF; its pages are counted. */
public final class Typeset {
    static final int THREADS = 2, PARAGRAPHS = 60;

    static String document() {
        StringBuilder text = new StringBuilder(
            "<fo:root xmlns:fo=\"http://www.w3.org/1999/XSL/Format\"><fo:layout-master-set>"
                + "<fo:simple-page-master master-name=\"a\" page-width=\"15cm\" page-height=\"20cm\">"
                + "<fo:region-body/></fo:simple-page-master></fo:layout-master-set>"
                + "<fo:page-sequence master-reference=\"a\"><fo:flow flow-name=\"xsl-region-body\">");
        for (int i = 0; i < PARAGRAPHS; i++) {
            text.append("<fo:block text-align=\"justify\" space-after=\"4pt\">");
            for (int word = 0; word < 60; word++)
                text.append("word").append((i * 31 + word * word) % 977).append(' ');
            text.append("</fo:block>");
        }
        return text.append("</fo:flow></fo:page-sequence></fo:root>").toString();
    }

    static int typeset(FopFactory factory, String document) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Fop fop = factory.newFop(MimeConstants.MIME_PDF, out);
        SAXParserFactory parsers = SAXParserFactory.newInstance();
        parsers.setNamespaceAware(true);
        parsers.newSAXParser().parse(new InputSource(new StringReader(document)),
            fop.getDefaultHandler());
        return out.size() > 1000 ? fop.getResults().getPageCount() : 0;
    }

    public static void main(String[] arguments) throws Exception {
        java.util.logging.LogManager.getLogManager().reset();
        FopFactory factory = FopFactory.newInstance(new File(".").toURI());
        String document = document();
        int pages = typeset(factory, document);
        long until = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        boolean[] right = new boolean[THREADS];
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                try {
                    do
                        right[number] = typeset(factory, document) == pages;
                    while (right[number] && System.nanoTime() < until);
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }, "typesetter " + i);
            threads[i].start();
        }
        boolean all = pages > 3;
        for (int i = 0; i < THREADS; i++) {
            threads[i].join();
            all &= right[i];
        }
        System.out.println(all ? "right" : "wrong");
    }
}
