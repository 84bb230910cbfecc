import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;

/** Xalan: threads transform a document by one style sheet, and sum up what it contains. */
public final class Transform {
    static final int THREADS = 2, ITEMS = 400;
    static final String SHEET =
        "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">"
            + "<xsl:output method=\"text\"/><xsl:key name=\"kind\" match=\"item\" use=\"@kind\"/>"
            + "<xsl:template match=\"/\"><xsl:for-each select=\"//item[@kind='3']\">"
            + "<xsl:sort select=\"@price\" data-type=\"number\"/>"
            + "<xsl:value-of select=\"concat(@price, ' ')\"/></xsl:for-each>"
            + "<xsl:value-of select=\"sum(key('kind', '3')/@price)\"/></xsl:template>"
            + "</xsl:stylesheet>";

    static String document() {
        StringBuilder text = new StringBuilder("<shop>");
        for (int i = 0; i < ITEMS; i++)
            text.append("<item kind=\"").append(i % 7).append("\" price=\"").append(i * 31 % 997)
                .append("\"/>");
        return text.append("</shop>").toString();
    }

    static long expected() {
        long sum = 0;
        for (int i = 3; i < ITEMS; i += 7)
            sum += i * 31 % 997;
        return sum;
    }

    static boolean transform(Templates sheet, String document) throws Exception {
        StringWriter out = new StringWriter();
        sheet.newTransformer().transform(
            new StreamSource(new StringReader(document)), new StreamResult(out));
        return out.toString().endsWith(" " + expected());
    }

    public static void main(String[] arguments) throws Exception {
        TransformerFactory factory = TransformerFactory.newInstance(
            "org.apache.xalan.processor.TransformerFactoryImpl", null);
        Templates sheet = factory.newTemplates(new StreamSource(new StringReader(SHEET)));
        String document = document();
        long until = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        boolean[] right = new boolean[THREADS];
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads[i] = new Thread(() -> {
                try {
                    do
                        right[number] = transform(sheet, document);
                    while (right[number] && System.nanoTime() < until);
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            }, "transformer " + i);
            threads[i].start();
        }
        boolean all = true;
        for (int i = 0; i < THREADS; i++) {
            threads[i].join();
            all &= right[i];
        }
        System.out.println(all ? "right" : "wrong");
    }
}
